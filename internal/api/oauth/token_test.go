package oauth_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/api/route"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/oauth"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// TestCodesWorkOnceForTheirClient: wrong ones are refused, and the second use of a code ends what the first gave.
func TestCodesWorkOnceForTheirClient(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		code := f.approve()
		other := f.register(redirect)
		for _, test := range []struct {
			name, field, value, code string
			status                   int
		}{
			{"no verifier", "code_verifier", "", "invalid_request", 400},
			{"another verifier", "code_verifier", strings.Repeat("v", 43), "invalid_grant", 400},
			{"the challenge", "code_verifier", "short", "invalid_grant", 400},
			{"another client", "client_id", other, "invalid_grant", 400},
			{"no client", "client_id", "", "invalid_client", 401},
			{"another redirect", "redirect_uri", redirect + "x", "invalid_grant", 400},
			{"no resource", "resource", "", "invalid_request", 400},
			{"another resource", "resource", f.OAuth.Resource("files"), "invalid_target", 400},
			{"a foreign resource", "resource", "https://evil.example.org/proxy/mcp", "invalid_target", 400},
			{"another code", "code", "oac_" + strings.Repeat("0", 64), "invalid_grant", 400},
			{"another grant", "grant_type", "password", "unsupported_grant_type", 400},
			{"a long code", "code", strings.Repeat("c", 600), "invalid_request", 400},
		} {
			f.wantError(test.name, f.exchange(code, test.field, test.value), test.status, test.code)
		}
		first := f.exchange(code)
		f.wantWorks("after wrong tries", first.AccessToken)
		f.wantNowhere(code, first.AccessToken, first.RefreshToken)

		f.wantError("a second use", f.exchange(code), http.StatusBadRequest, "invalid_grant")
		f.wantRefused("what the code gave", first.AccessToken, fault.Unauthenticated)
		f.wantError("its refresh token", f.refresh(first.RefreshToken), http.StatusBadRequest, "invalid_grant")
		if !f.recorded("consent.reuse_detected") || !f.recorded("key.revoked") {
			t.Error("the log does not tell of the reuse")
		}
		if got := f.consents(f.owner); len(got) != 1 || got[0].EndedAt == nil {
			t.Errorf("the consent goes on: %+v", got)
		}
		late := f.approve()
		f.Advance(61 * time.Second)
		f.wantError("a minute later", f.exchange(late), http.StatusBadRequest, "invalid_grant")
	})
}

const form = "application/x-www-form-urlencoded"

// TestFormsOnly: what OAuth sends as a form is not read from anywhere else.
func TestFormsOnly(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		send := func(path, body string, headers ...string) testserver.Answer {
			return f.Request(t, http.MethodPost, path, body, append([]string{"Content-Type", form}, headers...)...)
		}
		for name, got := range map[string]testserver.Answer{
			"JSON":     f.Request(t, http.MethodPost, "/oauth/token", `{"grant_type":"refresh_token"}`),
			"no body":  f.Request(t, http.MethodPost, "/oauth/token?grant_type=refresh_token", ""),
			"twice":    send("/oauth/token", "client_id=a&client_id=b"),
			"not UTF":  send("/oauth/token", "client_id=%zz"),
			"packed":   send("/oauth/token", "x", "Content-Encoding", "gzip"),
			"revoking": send("/oauth/revoke", "client_id=a"),
		} {
			if got.Status != http.StatusBadRequest ||
				!strings.Contains(string(got.Body), `"error":"invalid_request"`) {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		}
		long := send("/oauth/token", strings.Repeat("x", 9<<10))
		if long.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("a long form: %d %s", long.Status, long.Body)
		}
	})
}

// TestRefreshTokensRotate: the second use of one ends the consent.
func TestRefreshTokensRotate(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		first := f.tokens()
		f.wantError(
			"as another client",
			f.refresh(first.RefreshToken, "client_id", f.register(redirect)),
			400,
			"invalid_grant",
		)
		f.wantError(
			"for another resource",
			f.refresh(first.RefreshToken, "resource", f.OAuth.Resource("x")),
			400,
			"invalid_target",
		)
		f.wantError("an access token", f.refresh(first.AccessToken), 400, "invalid_grant")
		f.Advance(11 * time.Minute)
		f.wantRefused("an expired token", first.AccessToken, fault.Unauthenticated)
		second := f.refresh(first.RefreshToken, "resource", f.OAuth.Resource(""))
		f.wantWorks("after a refresh", second.AccessToken)
		third := f.refresh(second.RefreshToken)
		f.wantWorks("after another", third.AccessToken)
		f.wantError("a used one", f.refresh(first.RefreshToken), 400, "invalid_grant")
		f.wantRefused("what others got", third.AccessToken, fault.Unauthenticated)
		f.wantError("the newest", f.refresh(third.RefreshToken), 400, "invalid_grant")
		if !f.recorded("consent.reuse_detected") {
			t.Error("the log does not tell of the reuse")
		}
		old := f.tokens()
		f.Advance(31 * 24 * time.Hour)
		f.wantError("after a month", f.refresh(old.RefreshToken), 400, "invalid_grant")
	})
}

// TestConcurrentUse: of many that use a code at once, at most one gets tokens, and those end.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		code := f.approve()
		answers := make(chan answer, 4)
		for range cap(answers) {
			go func() { answers <- f.exchange(code) }()
		}
		var given []answer
		for range cap(answers) {
			if a := <-answers; a.status == http.StatusOK {
				given = append(given, a)
			}
		}
		if len(given) != 1 {
			t.Fatalf("%d of the uses gave tokens", len(given))
		}
		f.wantRefused("the one that won", given[0].AccessToken, fault.Unauthenticated)
	})
}

// TestOtherRoutesRefuseTheseTokens: they are good at the proxy alone.
func TestOtherRoutesRefuseTheseTokens(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		tokens := f.tokens()
		f.wantWorks("before", tokens.AccessToken)
		tried := 0
		for _, r := range f.API.Routes() {
			if r.Mode == route.Public || r.Path == "/proxy/mcp" {
				continue
			}
			path := strings.NewReplacer("{orgId}", f.org, "{agentId}", f.agent).Replace(r.Path)
			for _, token := range []string{tokens.AccessToken, tokens.RefreshToken} {
				for _, headers := range [][]string{{"Authorization", "Bearer " + token}, {"X-Api-Key", token}} {
					if got := f.Request(t, r.Method, path, "", headers...); got.Status != http.StatusUnauthorized {
						t.Errorf("%s %s with %s: %d %.200s", r.Method, r.Path, headers[0], got.Status, got.Body)
					}
					tried++
				}
			}
		}
		if tried < 400 {
			t.Errorf("only %d requests were tried", tried)
		}
	})
}

// TestTheKeyOfAConsentIsHidden: administrators see what it is, and nobody gets its secret.
func TestTheKeyOfAConsentIsHidden(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		ctx := t.Context()
		f.tokens()
		keys, err := f.owner.Keys(ctx, f.org, client.List{})
		if err != nil || len(keys.Items) != 1 || !keys.Items[0].Hidden ||
			keys.Items[0].Name != "OAuth client Some Client" ||
			slices.Contains(keys.Items[0].Scopes, "cli") {
			t.Fatalf("%+v, %v", keys.Items, err)
		}
		_, err = f.owner.RotateKey(ctx, keys.Items[0].ID)
		testserver.WantStatus(t, "rotate", err, http.StatusConflict)
		agent, err := f.owner.Agent(ctx, f.org, f.agent)
		if err != nil || !slices.Equal(agent.Keys, []string{keys.Items[0].ID}) {
			t.Errorf("the agent has the keys %v, %v", agent.Keys, err)
		}
		first := f.consents(f.owner)[0]
		if err := f.end(f.owner, first.ID); err != nil {
			t.Fatal(err)
		}
		if err := f.end(f.owner, first.ID); err != nil {
			t.Errorf("end it again: %v", err)
		}
		if agent, err = f.owner.Agent(ctx, f.org, f.agent); err != nil || len(agent.Keys) != 1 {
			t.Errorf("without another key the agent must stay bound: %v, %v", agent.Keys, err)
		}
		f.tokens()
		second := f.consents(f.owner)[0]
		if agent, err = f.owner.Agent(ctx, f.org, f.agent); err != nil ||
			!slices.Equal(agent.Keys, []string{second.KeyID}) {
			t.Errorf("the ended key stays bound: %v, %v", agent.Keys, err)
		}
	})
}

// TestSweep ends what no client can use: nobody must wonder what a key is for.
func TestSweep(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		ctx := t.Context()
		f.approve() // and never collected
		kept := f.tokens()
		member := f.Join(f.owner, f.org, "admin")
		to, err := f.tryApprove(member, f.query(), f.org, f.agent)
		if err != nil {
			t.Fatal(err)
		}
		left := f.exchange(queryOf(t, to).Get("code"))
		if err := f.owner.RemoveMember(ctx, f.org, member.ID); err != nil {
			t.Fatal(err)
		}
		f.Advance(2 * time.Minute)
		if err := f.OAuth.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		f.PutMember(f.org, member.ID, "admin")
		f.wantRefused("of somebody who came back", left.AccessToken, fault.Unauthenticated)
		f.wantWorks("one that is used", kept.AccessToken)
		live := 0
		for _, c := range f.consents(f.owner) {
			if c.EndedAt == nil {
				live++
			}
		}
		if live != 1 {
			t.Errorf("%d consents are left: %+v", live, f.consents(f.owner))
		}
		unused := f.register("https://unused.example.org/cb")
		f.Advance(25 * time.Hour)
		if err := f.OAuth.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		_, err = f.tryApprove(
			f.SignIn(f.owner.Email),
			f.query("client_id", unused, "redirect_uri", "https://unused.example.org/cb"),
			f.org,
			f.agent,
		)
		testserver.WantStatus(t, "a client that nobody consented to", err, http.StatusBadRequest)

		again := f.refresh(kept.RefreshToken)
		err = f.Database.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			return oauth.EndTokens(ctx, tx)
		}})
		if err != nil {
			t.Fatal(err)
		}
		f.wantRefused("after a restore", again.AccessToken, fault.Unauthenticated)
		f.wantError("after a restore", f.refresh(again.RefreshToken), 400, "invalid_grant")
	})
}

// TestThrottles of what anyone may ask, and of what a person's answer costs.
func TestThrottles(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		call := func(method, path string, body any) func(*testing.T, *client.Client, string) error {
			return func(t *testing.T, c *client.Client, _ string) error {
				return c.Call(t.Context(), method, path, nil, body, nil)
			}
		}
		f.NextMinute()
		testserver.WantThrottled(
			t,
			testserver.Throttled{Rule: throttle.RegisterClient, Call: call("POST", "/oauth/register", m{})},
			f.Public,
			"",
		)
		testserver.WantThrottled(
			t,
			testserver.Throttled{Rule: throttle.OAuthToken, Call: call("POST", "/oauth/token", m{})},
			f.Public,
			"",
		)
		testserver.WantStatus(
			t,
			"revoking",
			call("POST", "/oauth/revoke", m{})(t, f.Public, ""),
			http.StatusTooManyRequests,
		)
		testserver.WantThrottled(t, testserver.Throttled{Rule: throttle.AnswerClient,
			Call: call("POST", "/oauth/deny", m{"request": "x"})}, f.owner.Client, "")
		_, err := f.tryApprove(f.owner, f.query(), f.org, f.agent)
		testserver.WantStatus(t, "approving", err, http.StatusTooManyRequests)
	})
}
