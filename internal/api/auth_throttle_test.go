package api_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/throttle"
)

// throttled is a limited route and a call of it that is refused early, since
// what is refused counts too and hashing passwords takes time.
type throttled struct {
	rule throttle.Rule
	call func(t *testing.T, c *client.Client, account string) error
}

// throttledRoutes are all of them. Calls are about an account, except that of
// reset-password, which names none.
func throttledRoutes() []throttled {
	return []throttled{
		{throttle.Register, func(t *testing.T, c *client.Client, account string) error {
			_, err := c.Register(t.Context(), client.Registration{Email: account, Password: account})
			return err
		}},
		{throttle.VerifyOTP, func(t *testing.T, c *client.Client, account string) error {
			return c.VerifyOTP(t.Context(), account, "000000", knownPassword)
		}},
		{throttle.ResendOTP, func(t *testing.T, c *client.Client, account string) error {
			return c.ResendOTP(t.Context(), account)
		}},
		{throttle.Login, func(t *testing.T, c *client.Client, account string) error {
			_, err := c.Login(t.Context(), account+" not an address", knownPassword)
			return err
		}},
		{throttle.ForgotPassword, func(t *testing.T, c *client.Client, account string) error {
			return c.ForgotPassword(t.Context(), account)
		}},
		{throttle.SignIn, func(t *testing.T, c *client.Client, account string) error {
			return c.Call(t.Context(), http.MethodGet, "/auth/oidc", url.Values{"email": {account}}, nil, nil)
		}},
	}
}

// wantThrottled uses up a rule and checks the answer beyond it.
func wantThrottled(t *testing.T, route throttled, c *client.Client, account string) {
	t.Helper()
	for n := range route.rule.PerMinute {
		if err := route.call(t, c, account); client.StatusOf(err) == http.StatusTooManyRequests {
			t.Fatalf("%s: call %d: %v, want it let in", route.rule.Name, n+1, err)
		}
	}
	err := route.call(t, c, account)
	wantStatus(t, route.rule.Name+" beyond the limit", err, http.StatusTooManyRequests)
	if refused, ok := errors.AsType[*client.Error](err); ok &&
		(refused.RetryAfter <= 0 || refused.RetryAfter > time.Minute) {
		t.Errorf("%s: Retry-After %v, want the rest of the minute", route.rule.Name, refused.RetryAfter)
	}
}

func wantFree(t *testing.T, what string, err error) {
	t.Helper()
	if status := client.StatusOf(err); status == http.StatusTooManyRequests || status >= 500 ||
		(err != nil && status == 0) {
		t.Errorf("%s: %v, want it let in", what, err)
	}
}

func TestThrottles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		for _, route := range throttledRoutes() {
			s.nextMinute()
			wantThrottled(t, route, s.public, "ada@example.org")
			wantStatus(t, route.rule.Name+" with the account in another spelling",
				route.call(t, s.public, " ADA@example.org"), http.StatusTooManyRequests)
			wantFree(t, route.rule.Name+" of another account", route.call(t, s.public, "bob@example.org"))
			s.nextMinute()
			wantFree(t, route.rule.Name+" a minute later", route.call(t, s.public, "ada@example.org"))
		}
	})
}

// TestChangePasswordThrottle counts by who is signed in, wherever.
func TestChangePasswordThrottle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ada, bob := s.person("ada"), s.person("bob")
		elsewhere := s.signIn(ada.Email)
		route := throttled{throttle.ChangePassword, func(t *testing.T, c *client.Client, email string) error {
			return c.ChangePassword(t.Context(), knownPassword, email) // refused: a password must not be the address
		}}
		s.nextMinute()
		wantThrottled(t, route, ada.Client, ada.Email)
		wantStatus(t, "from another session", route.call(t, elsewhere.Client, ada.Email), http.StatusTooManyRequests)
		wantFree(t, "another person", route.call(t, bob.Client, bob.Email))
		s.nextMinute()
		wantFree(t, "a minute later", route.call(t, ada.Client, ada.Email))
	})
}

// TestInviteThrottle counts by who invites, in whichever organization.
func TestInviteThrottle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ada := s.person("ada")
		first, second := s.organization(ada, "One"), s.organization(ada, "Two")
		invite := func(orgID string) throttled {
			return throttled{throttle.Invite, func(t *testing.T, c *client.Client, _ string) error {
				_, err := c.Invite(t.Context(), orgID, "no address", "") // refused, and counted
				return err
			}}
		}
		s.nextMinute()
		wantThrottled(t, invite(first), ada.Client, "")
		wantStatus(t, "in another organization", invite(second).call(t, ada.Client, ""), http.StatusTooManyRequests)
		s.nextMinute()
		wantFree(t, "a minute later", invite(first).call(t, ada.Client, ""))
	})
}

// TestResetThrottle counts by address: the request names no account.
func TestResetThrottle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		route := throttled{throttle.ResetPassword, func(t *testing.T, c *client.Client, token string) error {
			return c.ResetPassword(t.Context(), token, nextPassword)
		}}
		here, _ := wired(s.public, "X-Forwarded-For", "192.0.2.1")
		there, _ := wired(s.public, "X-Forwarded-For", "192.0.2.2")
		s.nextMinute()
		wantThrottled(t, route, here, "one")
		wantStatus(t, "another token", route.call(t, here, "two"), http.StatusTooManyRequests)
		wantFree(t, "another address", route.call(t, there, "one"))
		s.nextMinute()
		wantFree(t, "a minute later", route.call(t, here, "one"))
	}, "WRIT_TRUSTED_PROXIES", "127.0.0.1")
}

// TestEveryThrottleIsTested keeps the tests above complete.
func TestEveryThrottleIsTested(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		tested := map[throttle.Rule]bool{throttle.ChangePassword: true, throttle.ResetPassword: true,
			throttle.Invite: true,
			// each has a test of its own
			throttle.TestWebhook: true, throttle.AnswerApproval: true, throttle.BindPolicy: true,
			throttle.VerifyAction: true, throttle.StartDevice: true, throttle.AnswerDevice: true,
			throttle.TestIdentityProvider: true, throttle.TestForwarding: true, throttle.DraftPolicy: true}
		for _, route := range throttledRoutes() {
			tested[route.rule] = true
		}
		used := map[throttle.Rule]bool{} // by one route or more
		for _, route := range s.API.Routes() {
			if !route.Throttle.IsZero() && !tested[route.Throttle] {
				t.Errorf("%s %s: its throttle has no test", route.Method, route.Path)
			}
			used[route.Throttle] = true
		}
		for rule := range tested {
			if !used[rule] {
				t.Errorf("no route has the throttle %s", rule)
			}
		}
	})
}

// TestForwardedForIsNotBelieved lets a caller claim a new address with each
// call: without a trusted proxy it changes nothing.
func TestForwardedForIsNotBelieved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		s.nextMinute()
		var last error
		for _, address := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"} {
			c, _ := wired(s.public, "X-Forwarded-For", address)
			last = c.VerifyOTP(t.Context(), "ada@example.org", "000000", knownPassword)
		}
		wantStatus(t, "the sixth call", last, http.StatusTooManyRequests)
		ada := s.person("ada")
		c, _ := wired(s.public, "X-Forwarded-For", "192.0.2.7")
		in, err := c.Login(t.Context(), ada.Email, knownPassword)
		if err != nil {
			t.Fatal(err)
		}
		if sessions, err := c.As(in.AccessToken).Sessions(t.Context()); err != nil ||
			sessions[0].Address != "127.0.0.1" {
			t.Errorf("sessions %+v, %v; want the peer's address", sessions, err)
		}
	}, "WRIT_TRUSTED_PROXIES", "192.0.2.0/24")
}

func TestForwardedForOfATrustedProxy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		try := func(forwarded string) error {
			c, _ := wired(s.public, "X-Forwarded-For", forwarded)
			return c.VerifyOTP(t.Context(), "ada@example.org", "000000", knownPassword)
		}
		s.nextMinute()
		for range 5 {
			wantFree(t, "from one address", try("192.0.2.1"))
		}
		wantStatus(t, "from it once more", try("192.0.2.1"), http.StatusTooManyRequests)
		wantFree(t, "from another address", try("192.0.2.2"))
		// What stands to the left is what the caller wrote.
		wantStatus(t, "with an invented hop", try("198.51.100.9, 192.0.2.1"), http.StatusTooManyRequests)
		wantStatus(t, "through two trusted proxies", try("198.51.100.9, 192.0.2.1, 127.0.0.9"),
			http.StatusTooManyRequests)
		for _, address := range []string{"192.0.2.3", "2001:db8::1"} {
			ada := s.person("ada")
			c, _ := wired(s.public, "X-Forwarded-For", address)
			in, err := c.Login(t.Context(), strings.ToUpper(ada.Email), knownPassword)
			if err != nil {
				t.Fatal(err)
			}
			if sessions, err := c.As(in.AccessToken).Sessions(t.Context()); err != nil ||
				sessions[0].Address != address {
				t.Errorf("sessions %+v, %v; want the address %s", sessions, err, address)
			}
		}
	}, "WRIT_TRUSTED_PROXIES", "127.0.0.0/8")
}
