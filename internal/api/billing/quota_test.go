package billing_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// useUp uses up every quota of the free plan: 2 decisions, 5 spans, 2 seats.
func (w *world) useUp(key *client.Client) {
	w.T.Helper()
	if status := w.ingest(key, 5); status != http.StatusOK {
		w.T.Fatalf("ingest: status %d", status)
	}
	if err := w.invite(); err != nil {
		w.T.Fatalf("invite: %v", err)
	}
	for range 3 {
		w.decide(key)
	}
}

func (w *world) invite() error {
	w.NextMinute()
	return w.owner.Call(w.T.Context(), http.MethodPost, "/organization/"+w.org+"/members/invite", nil,
		m{"email": testserver.FreshAddress(), "role": "viewer"}, nil)
}

// decide wants a decision.
func (w *world) decide(key *client.Client) {
	w.T.Helper()
	var got struct{ Decision string }
	err := key.Call(w.T.Context(), http.MethodPost, "/iap/enforce", nil,
		m{"agent_id": "a", "tool_name": "t", "tool_input": m{}}, &got)
	if err != nil {
		w.T.Fatalf("decide: %v", err)
	}
}

// TestQuotas: past them, spans, OpenTelemetry, token totals and invitations are refused with what to do; a larger plan
// has room at once.
func TestQuotas(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		key := w.TerminalKey(w.owner, w.org)
		w.useUp(key)
		otlp := m{"resourceSpans": []m{{"scopeSpans": []m{{"spans": []m{{
			"traceId": strings.ReplaceAll(database.NewID(), "-", ""), "spanId": "00f067aa0ba902b7", "name": "s",
			"startTimeUnixNano": fmt.Sprint(w.Database.Now().UnixNano()),
		}}}}}}}
		totals := m{"sessionId": database.NewID(), "product": "p", "entries": []m{{"model": "m", "inputTokens": 1}}}
		more := map[string]func() error{
			"spans": func() error {
				if status := w.ingest(key, 1); status != http.StatusOK {
					return &client.Error{StatusCode: status, Message: "plan under billing"}
				}
				return nil
			},
			"OpenTelemetry": func() error {
				return key.Call(t.Context(), http.MethodPost, "/v1/traces", nil, otlp, nil)
			},
			"token totals": func() error {
				return key.Call(t.Context(), http.MethodPost, "/dashboard/token-usage", nil, totals, nil)
			},
			"invitations": w.invite,
		}
		for what, try := range more {
			err := try()
			testserver.WantStatus(t, what, err, http.StatusPaymentRequired)
			if !strings.Contains(fmt.Sprint(err), "billing") {
				t.Errorf("%s: it does not say what to do: %v", what, err)
			}
		}
		var used struct {
			Decisions, Spans, Seats struct {
				Used, Quota int64
				Refused     bool
			}
		}
		w.must(http.MethodGet, "/billing/usage", nil, &used)
		if fmt.Sprint(used.Spans, used.Seats, used.Decisions.Refused) != "{5 5 true} {2 2 true} false" {
			t.Errorf("usage: %+v", used)
		}
		sub := w.provider.Subscribe("", w.checkout("scale"), "price_scale", "active")
		w.wantTaken("subscribed", w.provider.Event("customer.subscription.created", sub))
		for what, try := range more {
			if err := try(); err != nil {
				t.Errorf("%s with a larger plan: %v", what, err)
			}
		}
	})
}

// TestSeatsOfThoseWhoSignIn: who comes by the identity provider for the first time needs a seat, is told what to do
// without one, and leaves nothing behind. Members and invited people come in.
func TestSeatsOfThoseWhoSignIn(t *testing.T) {
	t.Parallel()
	provider := testserver.NewProvider(t)
	each(t, func(t *testing.T, w *world) {
		w.SetProvider(w.owner, w.org, provider, "corp.example")
		come := func(who *mockoidc.MockUser) error {
			w.NextMinute()
			_, err := w.SignInAt(provider, "/auth/oidc/"+w.org, who)
			return err
		}
		address := func() string { return database.NewID() + "@corp.example" }
		second, third := testserver.Someone(address()), testserver.Someone(address())
		if err := come(second); err != nil {
			t.Fatalf("the second of two seats: %v", err)
		}
		recorded := len(w.Recorded(w.org))
		err := come(third)
		testserver.WantStatus(t, "the third", err, http.StatusForbidden)
		if !strings.Contains(fmt.Sprint(err), "billing") {
			t.Errorf("it does not say what to do: %v", err)
		}
		var members int64
		if err := w.Database.QueryRow(t.Context(), `SELECT count(*) FROM user_account WHERE email = $1`,
			third.Email).Scan(&members); err != nil || members != 0 || len(w.Recorded(w.org)) != recorded {
			t.Errorf("%d accounts and %v are left of who was refused, %v", members, w.Recorded(w.org)[recorded:], err)
		}
		if err := come(second); err != nil {
			t.Errorf("a member of a full organization: %v", err)
		}
		w.decide(w.TerminalKey(w.owner, w.org))
		sub := w.provider.Subscribe("", w.checkout("team"), "price_team", "active") // 5 seats
		w.wantTaken("subscribed", w.provider.Event("customer.subscription.created", sub))
		if err := come(third); err != nil {
			t.Errorf("with a larger plan: %v", err)
		}
		invited := testserver.Someone(address())
		for _, email := range []string{invited.Email, testserver.FreshAddress()} {
			w.NextMinute()
			if err := w.owner.Call(t.Context(), http.MethodPost, "/organization/"+w.org+"/members/invite", nil,
				m{"email": email, "role": "viewer"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		testserver.WantStatus(t, "when invitations take the rest", come(testserver.Someone(address())),
			http.StatusForbidden)
		if err := come(invited); err != nil {
			t.Errorf("who is invited, and has a seat: %v", err)
		}
		var open int64
		if err := w.Database.QueryRow(t.Context(), `
			SELECT count(*) FROM organization_invite WHERE email = $1 AND accepted_at IS NULL AND withdrawn_at IS NULL`,
			invited.Email).Scan(&open); err != nil || open != 0 {
			t.Errorf("%d invitations of a member are open, %v: they hold a second seat", open, err)
		}
	}, testserver.PermitLoopback...)
}

// TestABurstAtAQuota takes exactly what the quota has, and refuses the rest with 402.
func TestABurstAtAQuota(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		sub := w.provider.Subscribe("", w.checkout("team"), "price_team", "active") // 50 spans
		w.wantTaken("subscribed", w.provider.Event("customer.subscription.created", sub))
		key := w.TerminalKey(w.owner, w.org)
		var taken, refused atomic.Int64
		var all sync.WaitGroup
		for range 80 {
			all.Go(func() {
				switch status := w.ingest(key, 1); status {
				case http.StatusOK:
					taken.Add(1)
				case http.StatusPaymentRequired:
					refused.Add(1)
				default:
					t.Errorf("status %d", status)
				}
			})
		}
		all.Wait()
		var used struct{ Spans struct{ Used int64 } }
		w.must(http.MethodGet, "/billing/usage", nil, &used)
		if taken.Load() != 50 || refused.Load() != 30 || used.Spans.Used != 50 {
			t.Errorf("%d taken, %d refused, %d counted; want 50, 30 and 50", taken.Load(), refused.Load(),
				used.Spans.Used)
		}
	})
}

// mayAskForPayment are all routes that may ever answer 402. Published clients go on without a plan on that code, so
// that no route by which they declare, ask or call is among them.
var mayAskForPayment = map[string]bool{
	"POST /observability/spans":                 true,
	"POST /v1/traces":                           true,
	"POST /dashboard/token-usage":               true,
	"POST /organization/{orgId}/members/invite": true,
	"POST /access-requests/{id}/approve":        true, // which may invite
}

// TestOnlyIngestAndInvitationsAskForPayment calls every route, those to come included, in an organization past all its
// quotas.
func TestOnlyIngestAndInvitationsAskForPayment(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		key := w.TerminalKey(w.owner, w.org)
		w.useUp(key)
		for _, r := range w.API.Routes() {
			name := r.Method + " " + r.Path
			if r.Paid != mayAskForPayment[name] {
				t.Errorf("%s may ask for payment: %v", name, r.Paid)
			}
			for _, prefix := range []string{"/iap", "/delegation", "/invoke", "/mcp", "/proxy", "/guard"} {
				if r.Paid && strings.HasPrefix(r.Path, prefix) {
					t.Errorf("%s must never ask for payment", name)
				}
			}
			if strings.HasSuffix(r.Path, "/stream") {
				continue
			}
			path := strings.NewReplacer("{orgId}", w.org).Replace(r.Path)
			for strings.Contains(path, "{") {
				path = path[:strings.Index(path, "{")] + database.NewID() + path[strings.Index(path, "}")+1:]
			}
			for _, header := range []http.Header{
				testserver.WithXAPIKey(key.APIKey), testserver.WithBearer(w.owner.Tokens.AccessToken),
			} {
				got := w.Send(r.Method, path+"?organizationId="+w.org, header, `{"tool":"t","agent_id":"a","goal":"g"}`)
				if got.Status == http.StatusPaymentRequired && !mayAskForPayment[name] {
					t.Errorf("%s: 402: %s", name, got.Body)
				}
			}
		}
	})
}

// TestDecidingIsNeverRefusedForMoney: past the quota of decisions a plan is declared, a call decided, and both counted.
func TestDecidingIsNeverRefusedForMoney(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		key := w.TerminalKey(w.owner, w.org)
		w.useUp(key)
		w.Declare(key.APIKey, "look")
		for range 20 {
			w.decide(key)
		}
	})
}
