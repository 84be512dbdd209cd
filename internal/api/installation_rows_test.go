package api_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/billing/payment/paymenttest"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/testserver"
)

// operate makes a person an operator.
func operate(s *testserver.Server, p *testserver.Person) *testserver.Person {
	s.T.Helper()
	if err := s.Operators.Add(s.T.Context(), principal.Operator(), p.ID); err != nil {
		s.T.Fatalf("add an operator: %v", err)
	}
	return p
}

// TestOperatorsOnly calls every route for operators, those to come included, as everybody else.
func TestOperatorsOnly(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Elsewhere")
		s.SetProvider(owner, org, corp, "corp.example")
		operator, former := operate(s, s.Person("operator")), operate(s, s.Person("former"))
		if err := s.Operators.Remove(t.Context(), principal.Operator(), former.ID); err != nil {
			t.Fatal(err)
		}
		s.MakeMember(org, operator.ID, principal.Viewer)
		bearer := func(token string) http.Header { return testserver.WithBearer(token) }
		others := map[string]http.Header{
			"nobody": {}, "an owner": bearer(owner.Tokens.AccessToken),
			"a former operator":                bearer(former.Tokens.AccessToken),
			"a terminal of an operator":        testserver.WithXAPIKey(s.TerminalKey(operator, org).APIKey),
			"a limited sign-in of an operator": bearer(s.Limited(operator, org, corp).AccessToken),
		}
		before, routes := s.Dump(), 0
		for _, r := range s.API.Routes() {
			if !r.Operators {
				continue
			}
			routes++
			for who, header := range others {
				got := s.Send(r.Method, pathOf(r, nil), header, `{}`)
				if got.Status != http.StatusForbidden && got.Status != http.StatusUnauthorized {
					t.Errorf("%s %s by %s: status %d: %s", r.Method, r.Path, who, got.Status, got.Body)
				}
			}
			got := s.Send(r.Method, pathOf(r, nil), bearer(operator.Tokens.AccessToken), `{}`)
			if got.Status == http.StatusForbidden || got.Status == http.StatusUnauthorized || got.Status >= 500 {
				t.Errorf("%s %s by an operator: status %d: %s", r.Method, r.Path, got.Status, got.Body)
			}
		}
		if routes < 3 {
			t.Errorf("%d routes for operators, want at least those of requests for access", routes)
		}
		if diff := cmp.Diff(before, s.Dump()); diff != "" {
			t.Errorf("something changed (-before +after):\n%s", diff)
		}
	}, testserver.PermitLoopback...)
}

// TestOperatorsHaveNoRights: an operator is a stranger in every organization.
func TestOperatorsHaveNoRights(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner, operator := s.Person("owner"), s.Person("operator")
		org := s.Organization(owner, "Elsewhere")
		operate(s, operator)
		me, err := operator.Me(t.Context())
		if err != nil || !me.Operator || len(me.Organizations) != 0 {
			t.Errorf("me: %+v, %v", me, err)
		}
		if me, err := owner.Me(t.Context()); err != nil || me.Operator {
			t.Errorf("the owner: %+v, %v", me, err)
		}
		for _, r := range s.API.Routes() {
			if !r.OrganizationScoped() || strings.HasSuffix(r.Path, "/stream") {
				continue
			}
			path := pathOf(r, map[string]string{"orgId": org})
			got := s.Send(r.Method, path, testserver.WithBearer(operator.Tokens.AccessToken), plausibleBody)
			if got.Status != http.StatusForbidden {
				t.Errorf("%s %s: status %d, want 403: %s", r.Method, r.Path, got.Status, got.Body)
			}
		}
	})
}

// somePost is one with an address of its own.
func somePost() m { return m{"slug": "post-" + database.NewID(), "title": "Post", "body": "Text."} }

// installationScenarios are the changes of the routes that are about no organization.
func (w *changes) installationScenarios() map[string]scenario {
	operator := operate(w.Server, w.Person("operator"))
	call := func(method, path string, body any, into any) func(context.Context) error {
		return func(ctx context.Context) error { return operator.Call(ctx, method, path, nil, body, into) }
	}
	asked := func() string {
		address := testserver.FreshAddress()
		w.NextMinute()
		err := w.Public.Call(w.T.Context(), http.MethodPost, "/access-requests", nil, m{"email": address}, nil)
		if err != nil {
			w.T.Fatalf("ask for access: %v", err)
		}
		var id string
		if err := w.Database.QueryRow(w.T.Context(), `SELECT id FROM access_request WHERE email = $1`, address).
			Scan(&id); err != nil {
			w.T.Fatal(err)
		}
		return id
	}
	draft := func() (id string) {
		var made struct{ ID string }
		if err := call(http.MethodPost, "/admin/blog/posts", somePost(), &made)(w.T.Context()); err != nil {
			w.T.Fatalf("write a post: %v", err)
		}
		return "/admin/blog/posts/" + made.ID
	}
	published := func() string {
		path := draft()
		if err := call(http.MethodPost, path+"/publish", m{"revision": 1}, nil)(w.T.Context()); err != nil {
			w.T.Fatalf("publish a post: %v", err)
		}
		return path
	}
	inOrganization := func(p *testserver.Person, path, org string, body any) error {
		return p.Call(w.T.Context(), http.MethodPost, path, url.Values{"organizationId": {org}}, body, nil)
	}
	change := func(method, path string, body any) func(context.Context) (string, error) {
		return inLog("", func(ctx context.Context) error {
			return w.owner.Call(ctx, method, path, url.Values{"organizationId": {w.org}}, body, nil)
		})
	}
	return map[string]scenario{
		"POST /notification/{id}/read": func() func(context.Context) (string, error) {
			return change(http.MethodPost, "/notification/"+someNotification(w.Server, w.owner.ID, w.org)+"/read", nil)
		},
		"POST /notification/read-all": func() func(context.Context) (string, error) {
			return change(http.MethodPost, "/notification/read-all", nil)
		},
		"PUT /notification/preferences": func() func(context.Context) (string, error) {
			return change(http.MethodPut, "/notification/preferences", m{"mail": true})
		},
		"POST /referral/code": func() func(context.Context) (string, error) {
			org := w.Organization(w.owner, "Referring")
			return inLog(org, func(context.Context) error {
				return inOrganization(w.owner, "/referral/code", org, nil)
			})
		},
		"POST /referral/claim": func() func(context.Context) (string, error) {
			guest := w.Person("guest")
			from, to, code := w.Organization(w.owner, "From"), w.Organization(guest, "To"), struct{ Code string }{}
			if err := w.owner.Call(w.T.Context(), http.MethodPost, "/referral/code",
				url.Values{"organizationId": {from}}, nil, &code); err != nil {
				w.T.Fatalf("make a code: %v", err)
			}
			return inLog(to, func(context.Context) error {
				return inOrganization(guest, "/referral/claim", to, m{"code": code.Code})
			})
		},
		"POST /checkout/session": func() func(context.Context) (string, error) {
			org := w.Organization(w.owner, "Paying")
			return inLog(org, func(context.Context) error {
				return inOrganization(w.owner, "/checkout/session", org, m{"plan": "team"})
			})
		},
		"POST /billing/portal": func() func(context.Context) (string, error) {
			org := w.payer()
			return inLog("", func(context.Context) error {
				return inOrganization(w.owner, "/billing/portal", org, nil)
			})
		},
		"POST /billing/webhook": func() func(context.Context) (string, error) {
			org := w.payer()
			var customer string
			if err := w.Database.QueryRow(w.T.Context(),
				`SELECT customer_id FROM billing_account WHERE org_id = $1`, org).Scan(&customer); err != nil {
				w.T.Fatal(err)
			}
			sub := w.provider.Subscribe("", customer, "price_team", "active")
			return inLog(org, func(ctx context.Context) error {
				return w.postEvent(ctx, w.provider.Event("customer.subscription.created", sub))
			})
		},
		"POST /admin/blog/posts": func() func(context.Context) (string, error) {
			return inLog(audit.System, call(http.MethodPost, "/admin/blog/posts", somePost(), nil))
		},
		"POST /admin/blog/preview": func() func(context.Context) (string, error) {
			return inLog("", call(http.MethodPost, "/admin/blog/preview", m{"body": "Text."}, nil))
		},
		"PUT /admin/blog/posts/{id}": func() func(context.Context) (string, error) {
			changed := somePost()
			changed["revision"] = 1
			return inLog(audit.System, call(http.MethodPut, draft(), changed, nil))
		},
		"POST /admin/blog/posts/{id}/publish": func() func(context.Context) (string, error) {
			return inLog(audit.System, call(http.MethodPost, draft()+"/publish", m{"revision": 1}, nil))
		},
		"POST /admin/blog/posts/{id}/withdraw": func() func(context.Context) (string, error) {
			return inLog(audit.System, call(http.MethodPost, published()+"/withdraw", m{"revision": 2}, nil))
		},
		"DELETE /admin/blog/posts/{id}": func() func(context.Context) (string, error) {
			return inLog(audit.System, call(http.MethodDelete, published(), nil, nil))
		},
		"POST /access-requests": func() func(context.Context) (string, error) {
			address := testserver.FreshAddress()
			return inLog(audit.System, func(ctx context.Context) error {
				return w.Public.Call(ctx, http.MethodPost, "/access-requests", nil, m{"email": address}, nil)
			})
		},
		"POST /access-requests/{id}/approve": func() func(context.Context) (string, error) {
			return inLog(audit.System, call(http.MethodPost, "/access-requests/"+asked()+"/approve", m{}, nil))
		},
		"POST /access-requests/{id}/reject": func() func(context.Context) (string, error) {
			return inLog(audit.System, call(http.MethodPost, "/access-requests/"+asked()+"/reject",
				m{"reason": "r"}, nil))
		},
	}
}

// payer is an organization that has begun to pay.
func (w *changes) payer() string {
	org := w.Organization(w.owner, "Paying")
	w.NextMinute()
	if err := w.owner.Call(w.T.Context(), http.MethodPost, "/checkout/session", url.Values{"organizationId": {org}},
		m{"plan": "team"}, nil); err != nil {
		w.T.Fatalf("begin to pay: %v", err)
	}
	return org
}

// postEvent posts what the payment provider posts.
func (w *changes) postEvent(ctx context.Context, e paymenttest.Event) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Public.BaseURL+"/billing/webhook",
		bytes.NewReader(e.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Stripe-Signature", e.Signature)
	answer, err := w.Public.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return &client.Error{StatusCode: answer.StatusCode}
	}
	return nil
}
