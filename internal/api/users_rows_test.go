package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// userScenarios are the changes of people's own accounts.
func (w *changes) userScenarios() map[string]scenario {
	by := func(p *testserver.Person, method, path string, body func() any) func(context.Context) (string, error) {
		return inLog(audit.System, func(ctx context.Context) error {
			return p.Call(ctx, method, path, nil, body(), nil)
		})
	}
	plain := func(method, path string, body any) scenario {
		return func() func(context.Context) (string, error) {
			return by(w.Person("somebody"), method, path, func() any { return body })
		}
	}
	withFactor := func(method, path string, body func(f *testserver.Factor) any) scenario {
		return func() func(context.Context) (string, error) {
			p := w.Person("somebody")
			f := w.Enrol(p)
			return by(p, method, path, func() any { return body(f) })
		}
	}
	none := func(*testserver.Factor) any { return nil }
	code := func(f *testserver.Factor) any { return m{"code": f.Code()} }
	return map[string]scenario{
		"PATCH /user/profile":   plain(http.MethodPatch, "/user/profile", m{"name": "Another"}),
		"PUT /user/preferences": plain(http.MethodPut, "/user/preferences", m{"theme": "dark", "density": "roomy"}),
		"POST /user/email": plain(http.MethodPost, "/user/email",
			m{"email": testserver.FreshAddress(), "password": testserver.Password}),
		"POST /user/second-factor": plain(http.MethodPost, "/user/second-factor", m{"password": testserver.Password}),

		"POST /user/second-factor/proof": withFactor(http.MethodPost, "/user/second-factor/proof", code),
		"POST /user/second-factor/recovery-codes": withFactor(http.MethodPost,
			"/user/second-factor/recovery-codes", none),
		"DELETE /user/second-factor": withFactor(http.MethodDelete, "/user/second-factor", none),

		"POST /user/second-factor/confirm": func() func(context.Context) (string, error) {
			p := w.Person("somebody")
			f := w.BeginFactor(p)
			return by(p, http.MethodPost, "/user/second-factor/confirm", func() any { return code(f) })
		},
		"POST /auth/login/second-factor": func() func(context.Context) (string, error) {
			p := w.Person("somebody")
			f := w.Enrol(p)
			in, err := w.Public.Login(w.T.Context(), p.Email, testserver.Password)
			if err != nil {
				w.T.Fatalf("sign in: %v", err)
			}
			return inLog(audit.System, func(ctx context.Context) error {
				return second(w.Public.FinishLogin(ctx, in.SecondFactor.Challenge, f.Code()))
			})
		},
		"POST /user/email/confirm": w.confirmEmail,
		"DELETE /user": func() func(context.Context) (string, error) {
			p := w.Person("somebody")
			return by(p, http.MethodDelete, "/user", func() any {
				return m{"password": testserver.Password, "confirm": p.Email}
			})
		},
		"PUT /organization/{orgId}/second-factor": func() func(context.Context) (string, error) {
			p := w.Person("somebody")
			org := w.Organization(p, "Careful")
			w.Enrol(p)
			return inLog(org, func(ctx context.Context) error {
				return p.Call(ctx, http.MethodPut, "/organization/"+org+"/second-factor", nil, m{"required": true}, nil)
			})
		},
	}
}

func (w *changes) confirmEmail() func(context.Context) (string, error) {
	p, address := w.Person("somebody"), testserver.FreshAddress()
	before := len(w.Mails(p.Email, 0))
	if err := p.Call(w.T.Context(), http.MethodPost, "/user/email", nil,
		m{"email": address, "password": testserver.Password}, nil); err != nil {
		w.T.Fatalf("begin a change of address: %v", err)
	}
	codeIn := func(text string) string {
		_, rest, _ := strings.Cut(text, "address is ")
		return rest[:8]
	}
	old := w.Mails(p.Email, before+1)
	body := m{"currentCode": codeIn(old[len(old)-1].Text), "newCode": codeIn(w.LastMail(address))}
	return inLog(audit.System, func(ctx context.Context) error {
		return p.Call(ctx, http.MethodPost, "/user/email/confirm", nil, body, nil)
	})
}

// secondFactorRoleCases say who may require a second factor.
func secondFactorRoleCases() []roleCase {
	return []roleCase{{
		"PUT /organization/{orgId}/second-factor", "no longer require it", managers, 403,
		func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
			return p.Call(ctx, http.MethodPut, "/organization/"+org+"/second-factor", nil, m{"required": false}, nil)
		},
	}}
}

// TestAccountThrottles count by who is signed in.
func TestAccountThrottles(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		elsewhere := s.SignIn(ada.Email)
		for _, r := range []struct {
			rule         throttle.Rule
			method, path string
			body         m
		}{
			{throttle.SecondFactor, http.MethodPost, "/user/second-factor/proof", m{"code": "000000"}},
			{throttle.ChangeEmail, http.MethodPost, "/user/email", m{"email": "no address"}},
			{throttle.ConfirmEmail, http.MethodPost, "/user/email/confirm", m{"currentCode": "1", "newCode": "1"}},
			{throttle.DeleteAccount, http.MethodDelete, "/user", m{"confirm": "not mine"}},
			{throttle.ExportAccount, http.MethodGet, "/user/export", nil},
			{throttle.ChangeProfile, http.MethodPatch, "/user/profile", m{"timeZone": "nowhere"}},
		} {
			route := testserver.Throttled{Rule: r.rule, Call: func(t *testing.T, c *client.Client, _ string) error {
				if r.body == nil {
					return c.Call(t.Context(), r.method, r.path, nil, nil, nil)
				}
				return c.Call(t.Context(), r.method, r.path, nil, r.body, nil)
			}}
			s.NextMinute()
			testserver.WantThrottled(t, route, ada.Client, "")
			testserver.WantStatus(t, r.rule.Name+" from another session", route.Call(t, elsewhere.Client, ""),
				http.StatusTooManyRequests)
			testserver.WantFree(t, r.rule.Name+" of another person", route.Call(t, bob.Client, ""))
			s.NextMinute()
			testserver.WantFree(t, r.rule.Name+" a minute later", route.Call(t, ada.Client, ""))
		}
	})
}

// TestWhatAsksAgain: these routes, and no others, want a fresh proof of the second factor.
func TestWhatAsksAgain(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		var got []string
		for _, r := range s.API.Routes() {
			if r.WantsProof() && !r.Operators {
				got = append(got, r.Method+" "+r.Path)
			}
			if r.Operators && r.Method != http.MethodGet && !r.WantsProof() {
				t.Errorf("%s %s does not ask operators again", r.Method, r.Path)
			}
		}
		want := []string{
			"POST /auth/change-password", "POST /auth/device/approve", "POST /auth/identities",
			"PUT /organization/{orgId}/identity-provider", "DELETE /organization/{orgId}/identity-provider",
			"POST /user/email", "DELETE /user", "POST /user/second-factor/recovery-codes", "DELETE /user/second-factor",
			"PUT /organization/{orgId}/second-factor", "DELETE /organization/{orgId}",
			"PATCH /organization/{orgId}/members/{userId}/role", "POST /organization/{orgId}/members/invite",
			"POST /api-keys", "POST /api-keys/provision", "POST /api-keys/{id}/rotate",
			"POST /oauth/approve",
			"POST /policies/{policyId}/activate", "POST /policies/{policyId}/deactivate",
			"POST /policies/{policyId}/rollback", "DELETE /policies/{policyId}",
			"PUT /policies/{policyId}/bindings", "POST /policies/{policyId}/bindings",
			"DELETE /policies/{policyId}/bindings/{kind}/{subject}", "POST /policies/profiles/confirm",
			"PUT /organization/{orgId}/enforcement", "PUT /organization/{orgId}/tool-classes",
			"PUT /delegation/settings",
			"POST /iap/agent/{agentId}/kill", "POST /iap/agent/{agentId}/revive",
			"POST /organization/{orgId}/kill-switch",
			"POST /certificate/issue", "POST /mcp/certificates", "POST /certificate/authority/rotate",
			"POST /audit-log/entries/{index}/erase",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("routes that ask again (-want +got):\n%s", diff)
		}
	})
}
