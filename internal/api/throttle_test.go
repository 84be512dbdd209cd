package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// throttledRoutes are all of them. Calls are about an account, except that of
// reset-password, which names none.
func throttledRoutes() []testserver.Throttled {
	return []testserver.Throttled{
		{Rule: throttle.Register, Call: func(t *testing.T, c *client.Client, account string) error {
			err := c.Register(t.Context(), client.Registration{Email: account, Password: account})
			return err
		}},
		{Rule: throttle.VerifyOTP, Call: func(t *testing.T, c *client.Client, account string) error {
			return c.VerifyOTP(t.Context(), account, "000000", testserver.Password)
		}},
		{Rule: throttle.ResendOTP, Call: func(t *testing.T, c *client.Client, account string) error {
			return c.ResendOTP(t.Context(), account)
		}},
		{Rule: throttle.Login, Call: func(t *testing.T, c *client.Client, account string) error {
			_, err := c.Login(t.Context(), account+" not an address", testserver.Password)
			return err
		}},
		{Rule: throttle.FinishLogin, Call: func(t *testing.T, c *client.Client, account string) error {
			_, err := c.FinishLogin(t.Context(), account, "000000")
			return err
		}},
		{Rule: throttle.ForgotPassword, Call: func(t *testing.T, c *client.Client, account string) error {
			return c.ForgotPassword(t.Context(), account)
		}},
		{Rule: throttle.AskAccess, Call: func(t *testing.T, c *client.Client, account string) error {
			return c.Call(t.Context(), http.MethodPost, "/access-requests", nil, m{"email": account}, nil)
		}},
		{Rule: throttle.SignIn, Call: func(t *testing.T, c *client.Client, account string) error {
			return c.Call(t.Context(), http.MethodGet, "/auth/oidc", url.Values{"email": {account}}, nil, nil)
		}},
	}
}

func TestThrottles(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		for _, route := range throttledRoutes() {
			s.NextMinute()
			testserver.WantThrottled(t, route, s.Public, "ada@example.org")
			testserver.WantStatus(t, route.Rule.Name+" with the account in another spelling",
				route.Call(t, s.Public, " ADA@example.org"), http.StatusTooManyRequests)
			testserver.WantFree(t, route.Rule.Name+" of another account", route.Call(t, s.Public, "bob@example.org"))
			s.NextMinute()
			testserver.WantFree(t, route.Rule.Name+" a minute later", route.Call(t, s.Public, "ada@example.org"))
		}
	})
}

// TestSignInsAreNoGuesses: right passwords do not use up what an account may try, wrong ones do.
func TestSignInsAreNoGuesses(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		s.NextMinute()
		for i := range 2 * throttle.Login.PerMinute {
			if _, err := s.Public.Login(t.Context(), ada.Email, testserver.Password); err != nil {
				t.Fatalf("sign-in %d: %v", i+1, err)
			}
		}
		testserver.WantThrottled(t, testserver.Throttled{Rule: throttle.Login,
			Call: func(t *testing.T, c *client.Client, account string) error {
				_, err := c.Login(t.Context(), account, "a wrong password")
				return err
			}}, s.Public, ada.Email)
		_, err := s.Public.Login(t.Context(), ada.Email, testserver.Password)
		testserver.WantStatus(t, "the right password after too many wrong ones", err, http.StatusTooManyRequests)
	})
}

// TestChangePasswordThrottle counts by who is signed in, wherever.
func TestChangePasswordThrottle(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		elsewhere := s.SignIn(ada.Email)
		route := testserver.Throttled{Rule: throttle.ChangePassword,
			Call: func(t *testing.T, c *client.Client, email string) error {
				// refused: a password must not be the address
				return c.ChangePassword(t.Context(), testserver.Password, email)
			}}
		s.NextMinute()
		testserver.WantThrottled(t, route, ada.Client, ada.Email)
		testserver.WantStatus(t, "from another session", route.Call(t, elsewhere.Client, ada.Email),
			http.StatusTooManyRequests)
		testserver.WantFree(t, "another person", route.Call(t, bob.Client, bob.Email))
		s.NextMinute()
		testserver.WantFree(t, "a minute later", route.Call(t, ada.Client, ada.Email))
	})
}

// TestInviteThrottle counts by who invites, in whichever organization.
func TestInviteThrottle(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		first, second := s.Organization(ada, "One"), s.Organization(ada, "Two")
		invite := func(orgID string) testserver.Throttled {
			return testserver.Throttled{Rule: throttle.Invite,
				Call: func(t *testing.T, c *client.Client, _ string) error {
					_, err := c.Invite(t.Context(), orgID, "no address", "") // refused, and counted
					return err
				}}
		}
		s.NextMinute()
		testserver.WantThrottled(t, invite(first), ada.Client, "")
		testserver.WantStatus(t, "in another organization", invite(second).Call(t, ada.Client, ""),
			http.StatusTooManyRequests)
		s.NextMinute()
		testserver.WantFree(t, "a minute later", invite(first).Call(t, ada.Client, ""))
	})
}

// TestChainThrottle counts by who asks, as a person or with a key.
func TestChainThrottle(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		key := s.TerminalKey(ada, s.Organization(ada, "One"))
		path := "/iap/trust/chain/" + s.Declare(key.APIKey, "look").PlanID
		route := testserver.Throttled{Rule: throttle.ShowChain,
			Call: func(t *testing.T, c *client.Client, _ string) error {
				return c.Call(t.Context(), http.MethodGet, path, nil, nil, nil)
			}}
		s.NextMinute()
		testserver.WantThrottled(t, route, key, "")
		testserver.WantStatus(t, "as its owner", route.Call(t, ada.Client, ""), http.StatusTooManyRequests)
		s.NextMinute()
		testserver.WantFree(t, "a minute later", route.Call(t, key, ""))
	})
}

// TestSearchThrottle counts by who searches, in whichever organization.
func TestSearchThrottle(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		first, second, other := s.Organization(ada, "One"), s.Organization(ada, "Two"), s.Organization(bob, "Three")
		search := func(orgID string) testserver.Throttled {
			query := url.Values{"organizationId": {orgID}, "q": {"a"}, "cursor": {"none"}} // refused, and counted
			return testserver.Throttled{Rule: throttle.Search,
				Call: func(t *testing.T, c *client.Client, _ string) error {
					return c.Call(t.Context(), http.MethodGet, "/search", query, nil, nil)
				}}
		}
		s.NextMinute()
		testserver.WantThrottled(t, search(first), ada.Client, "")
		testserver.WantStatus(t, "in another organization", search(second).Call(t, ada.Client, ""),
			http.StatusTooManyRequests)
		testserver.WantFree(t, "another person", search(other).Call(t, bob.Client, ""))
		s.NextMinute()
		testserver.WantFree(t, "a minute later", search(first).Call(t, ada.Client, ""))
	})
}

// TestClaimThrottle counts by who claims, in whichever organization.
func TestClaimThrottle(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		first, second, other := s.Organization(ada, "One"), s.Organization(ada, "Two"), s.Organization(bob, "Three")
		claim := func(orgID string) testserver.Throttled {
			return testserver.Throttled{Rule: throttle.ClaimReferral,
				Call: func(t *testing.T, c *client.Client, _ string) error {
					return c.Call(t.Context(), http.MethodPost, "/referral/claim",
						url.Values{"organizationId": {orgID}}, m{"code": "none"}, nil) // refused, and counted
				}}
		}
		s.NextMinute()
		testserver.WantThrottled(t, claim(first), ada.Client, "")
		testserver.WantStatus(t, "in another organization", claim(second).Call(t, ada.Client, ""),
			http.StatusTooManyRequests)
		testserver.WantFree(t, "another person", claim(other).Call(t, bob.Client, ""))
		s.NextMinute()
		testserver.WantFree(t, "a minute later", claim(first).Call(t, ada.Client, ""))
	})
}

// TestCheckoutThrottle counts by who begins to pay, in whichever organization; what the provider posts, by address.
func TestCheckoutThrottle(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		first, second := s.Organization(ada, "One"), s.Organization(ada, "Two")
		checkout := func(orgID string) testserver.Throttled {
			return testserver.Throttled{Rule: throttle.Checkout,
				Call: func(t *testing.T, c *client.Client, _ string) error {
					return c.Call(t.Context(), http.MethodPost, "/checkout/session",
						url.Values{"organizationId": {orgID}}, m{"plan": "none"}, nil) // refused, and counted
				}}
		}
		s.NextMinute()
		testserver.WantThrottled(t, checkout(first), ada.Client, "")
		testserver.WantStatus(t, "in another organization", checkout(second).Call(t, ada.Client, ""),
			http.StatusTooManyRequests)
		s.NextMinute()
		testserver.WantFree(t, "a minute later", checkout(first).Call(t, ada.Client, ""))
		s.NextMinute()
		testserver.WantThrottled(t, testserver.Throttled{Rule: throttle.BillingEvent,
			Call: func(t *testing.T, c *client.Client, _ string) error {
				return c.Call(t.Context(), http.MethodPost, "/billing/webhook", nil, m{}, nil)
			}}, s.Public, "")
	})
}

// TestResetThrottle counts by address: the request names no account.
func TestResetThrottle(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		route := testserver.Throttled{Rule: throttle.ResetPassword,
			Call: func(t *testing.T, c *client.Client, token string) error {
				return c.ResetPassword(t.Context(), token, testserver.NextPassword)
			}}
		here, _ := testserver.Watch(s.Public, "X-Forwarded-For", "192.0.2.1")
		there, _ := testserver.Watch(s.Public, "X-Forwarded-For", "192.0.2.2")
		s.NextMinute()
		testserver.WantThrottled(t, route, here, "one")
		testserver.WantStatus(t, "another token", route.Call(t, here, "two"), http.StatusTooManyRequests)
		testserver.WantFree(t, "another address", route.Call(t, there, "one"))
		s.NextMinute()
		testserver.WantFree(t, "a minute later", route.Call(t, here, "one"))
	}, "WRIT_TRUSTED_PROXIES", "127.0.0.1")
}

// TestThrottlesOfKeys count by the owner of a key: keys multiply.
func TestThrottlesOfKeys(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		org, other := s.Organization(ada, "One"), s.Organization(bob, "Two")
		keys, others := s.TerminalKey(ada, org), s.TerminalKey(bob, other)
		second := s.TerminalKey(ada, org)
		for _, c := range []struct {
			rule throttle.Rule
			path string
			body m // which is refused, and counted
		}{
			{throttle.MakeKey, "/api-keys/provision", m{"product": "x", "organizationId": "none"}},
			{throttle.Delegate, "/iap/trust/delegate", m{"token": m{}}},
			{throttle.GiveLease, "/agent/lease", m{"tools": []m{{"server": "fs", "tool": "read"}}}},
			{throttle.RegisterServer, "/mcp/auto-register", m{"mcpName": "local"}},
			{throttle.IssueCertificate, "/certificate/issue", m{"agentId": "a", "csr": "x"}},
		} {
			route := testserver.Throttled{Rule: c.rule, Call: func(t *testing.T, by *client.Client, _ string) error {
				return by.Call(t.Context(), http.MethodPost, c.path, nil, c.body, nil)
			}}
			s.NextMinute()
			testserver.WantThrottled(t, route, keys, "")
			testserver.WantStatus(t, c.path+" with another key", route.Call(t, second, ""), http.StatusTooManyRequests)
			testserver.WantFree(t, c.path+" of another owner", route.Call(t, others, ""))
			s.NextMinute()
			testserver.WantFree(t, c.path+" a minute later", route.Call(t, keys, ""))
		}
	})
}

// TestEveryThrottleIsTested keeps the tests above complete.
func TestEveryThrottleIsTested(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		tested := map[throttle.Rule]bool{throttle.ChangePassword: true, throttle.ResetPassword: true,
			throttle.Invite: true,
			// each has a test of its own
			throttle.TestWebhook: true, throttle.AnswerApproval: true, throttle.BindPolicy: true,
			throttle.VerifyAction: true, throttle.StartDevice: true, throttle.AnswerDevice: true,
			throttle.TestIdentityProvider: true, throttle.TestForwarding: true, throttle.DraftPolicy: true,
			throttle.CheckLog: true, throttle.MakeKey: true, throttle.GiveLease: true,
			throttle.MakeDemo: true, throttle.RegisterServer: true, throttle.AskServer: true,
			throttle.RegisterClient: true, throttle.AnswerClient: true, throttle.OAuthToken: true,
			throttle.IssueCertificate: true, throttle.FetchRevocations: true, throttle.Delegate: true,
			throttle.ClaimReferral: true, throttle.ShowChain: true, throttle.Checkout: true,
			throttle.BillingEvent: true, throttle.SecondFactor: true, throttle.ChangeEmail: true,
			throttle.ConfirmEmail: true, throttle.DeleteAccount: true, throttle.ExportAccount: true,
			throttle.ChangeProfile: true, throttle.Search: true}
		for _, route := range throttledRoutes() {
			tested[route.Rule] = true
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		s.NextMinute()
		var last error
		for _, address := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"} {
			c, _ := testserver.Watch(s.Public, "X-Forwarded-For", address)
			last = c.VerifyOTP(t.Context(), "ada@example.org", "000000", testserver.Password)
		}
		testserver.WantStatus(t, "the sixth call", last, http.StatusTooManyRequests)
		ada := s.Person("ada")
		c, _ := testserver.Watch(s.Public, "X-Forwarded-For", "192.0.2.7")
		in, err := c.Login(t.Context(), ada.Email, testserver.Password)
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		try := func(forwarded string) error {
			c, _ := testserver.Watch(s.Public, "X-Forwarded-For", forwarded)
			return c.VerifyOTP(t.Context(), "ada@example.org", "000000", testserver.Password)
		}
		s.NextMinute()
		for range 5 {
			testserver.WantFree(t, "from one address", try("192.0.2.1"))
		}
		testserver.WantStatus(t, "from it once more", try("192.0.2.1"), http.StatusTooManyRequests)
		testserver.WantFree(t, "from another address", try("192.0.2.2"))
		// What stands to the left is what the caller wrote.
		testserver.WantStatus(t, "with an invented hop", try("198.51.100.9, 192.0.2.1"), http.StatusTooManyRequests)
		testserver.WantStatus(t, "through two trusted proxies", try("198.51.100.9, 192.0.2.1, 127.0.0.9"),
			http.StatusTooManyRequests)
		for _, address := range []string{"192.0.2.3", "2001:db8::1"} {
			ada := s.Person("ada")
			c, _ := testserver.Watch(s.Public, "X-Forwarded-For", address)
			in, err := c.Login(t.Context(), strings.ToUpper(ada.Email), testserver.Password)
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
