package billing_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/client"
	"writ/internal/billing/payment/paymenttest"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

type m = map[string]any

// world is a server whose organizations pay, and one of them.
type world struct {
	*testserver.Server
	provider *paymenttest.Provider
	owner    *testserver.Person
	org      string
}

func each(t *testing.T, body func(t *testing.T, w *world), settings ...string) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		provider := paymenttest.New(t)
		s := testserver.Start(t, o, provider.Settings(paymenttest.Plans, settings...)...)
		w := &world{Server: s, provider: provider, owner: s.Person("owner")}
		w.org = s.Organization(w.owner, "Payer")
		body(t, w)
	})
}

func (w *world) call(p *testserver.Person, method, path string, body, into any) error {
	return p.Call(w.T.Context(), method, path, url.Values{"organizationId": {w.org}}, body, into)
}

func (w *world) must(method, path string, body, into any) {
	w.T.Helper()
	if err := w.call(w.owner, method, path, body, into); err != nil {
		w.T.Fatalf("%s %s: %v", method, path, err)
	}
}

// checkout begins to pay, and gives the customer.
func (w *world) checkout(plan string) (customer string) {
	w.T.Helper()
	w.NextMinute()
	var page struct{ URL string }
	w.must(http.MethodPost, "/checkout/session", m{"plan": plan}, &page)
	if page.URL == "" {
		w.T.Fatal("no page to pay on")
	}
	all := w.provider.Customers()
	return all[len(all)-1]
}

type planAnswer struct {
	Plan    struct{ ID string }
	Status  string
	HasPaid bool
	Plans   []struct{ ID string }
}

func (w *world) wantPlan(what, id, status string) {
	w.T.Helper()
	var got planAnswer
	w.must(http.MethodGet, "/billing/plan", nil, &got)
	if got.Plan.ID != id || got.Status != status {
		w.T.Errorf("%s: plan %+v, want %s, %s", what, got, id, status)
	}
}

// post posts an event and gives the status of the answer.
func (w *world) post(e paymenttest.Event) int {
	w.T.Helper()
	request, err := http.NewRequestWithContext(w.T.Context(), http.MethodPost, w.Public.BaseURL+"/billing/webhook",
		bytes.NewReader(e.Body))
	if err != nil {
		w.T.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Stripe-Signature", e.Signature)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		w.T.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func (w *world) wantTaken(what string, e paymenttest.Event) {
	w.T.Helper()
	if status := w.post(e); status != http.StatusOK {
		w.T.Errorf("%s: status %d", what, status)
	}
}

// TestAPlanIsPaidFor from the first page to the end of the subscription.
func TestAPlanIsPaidFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.wantPlan("at first", "free", "")
		testserver.WantStatus(t, "a portal before", w.call(w.owner, http.MethodPost, "/billing/portal", nil, nil),
			http.StatusConflict)
		for _, plan := range []string{"free", "none", "custom"} {
			testserver.WantStatus(t, "pay for "+plan,
				w.call(w.owner, http.MethodPost, "/checkout/session", m{"plan": plan}, nil), http.StatusBadRequest)
		}
		customer := w.checkout("team")
		w.wantPlan("before anything is paid", "free", "")
		sub := w.provider.Subscribe("", customer, "price_team", "active")
		w.wantTaken("subscribed", w.provider.Event("customer.subscription.created", sub))
		w.wantPlan("subscribed", "team", "active")
		err := w.call(w.owner, http.MethodPost, "/checkout/session", m{"plan": "team"}, nil)
		testserver.WantStatus(t, "pay twice", err, http.StatusConflict)
		var portal struct{ URL string }
		w.must(http.MethodPost, "/billing/portal", nil, &portal)
		if portal.URL == "" {
			t.Error("no portal")
		}
		for _, step := range []struct{ price, status, plan string }{
			{"price_team", "past_due", "team"}, {"price_scale", "active", "scale"},
			{"price_by_hand", "active", "custom"},
			{"price_team", "unpaid", "free"}, {"price_team", "canceled", "free"},
		} {
			w.provider.Subscribe(sub, customer, step.price, step.status)
			w.wantTaken(step.status, w.provider.Event("customer.subscription.updated", sub))
			w.wantPlan(step.price+" "+step.status, step.plan, step.status)
		}
		again := w.provider.Subscribe("", customer, "price_team", "active")
		w.wantTaken("another subscription", w.provider.Event("customer.subscription.updated", sub))
		w.wantPlan("another subscription", "team", "active")
		if got := w.Recorded(w.org); !slices.Contains(got, "billing.checkout_started") ||
			!slices.Contains(got, "billing.plan_changed") {
			t.Errorf("the log has %v (%s)", got, again)
		}
	})
}

// TestInvoices are as the provider has them now, to those who may change the organization.
func TestInvoices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		customer := w.checkout("team")
		first := w.provider.Invoice("", customer, "open", 4900)
		open := w.provider.Event("invoice.finalized", first)
		w.provider.Invoice(first, customer, "paid", 4900)
		w.wantTaken("paid", w.provider.Event("invoice.paid", first))
		w.wantTaken("finalized, later", open) // its state then must not come back
		second := w.provider.Invoice("", customer, "open", 5900)
		w.wantTaken("second", w.provider.Event("invoice.finalized", second))
		var got struct {
			Items []struct {
				ID, Status string
				PaidCents  int64
			}
		}
		w.must(http.MethodGet, "/billing/invoices", nil, &got)
		if fmt.Sprint(got.Items) != fmt.Sprintf("[{%s open 0} {%s paid 4900}]", second, first) {
			t.Errorf("invoices %+v", got.Items)
		}
		other := w.Person("other")
		w.Organization(other, "Elsewhere")
		testserver.WantStatus(t, "a stranger", w.call(other, http.MethodGet, "/billing/invoices", nil, nil), 403)
		testserver.WantStatus(t, "a viewer",
			w.call(w.Join(w.owner, w.org, "viewer"), http.MethodGet, "/billing/invoices", nil, nil), 403)
	})
}

// TestInvoicesThatCannotBeFetched: a foreseen one has no id, and a draft that was deleted is gone, whichever message
// about it comes last or again. Each is taken, so that the provider does not send it for days.
func TestInvoicesThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		customer := w.checkout("team")
		shown := func() string {
			var got struct{ Items []struct{ ID, Status string } }
			w.must(http.MethodGet, "/billing/invoices", nil, &got)
			return fmt.Sprint(got.Items)
		}
		kept := w.provider.Invoice("", customer, "paid", 4900)
		w.wantTaken("one that stays", w.provider.Event("invoice.paid", kept))
		want := fmt.Sprintf("[{%s paid}]", kept)
		upcoming := w.provider.Upcoming(customer)
		w.wantTaken("a foreseen one", upcoming)
		w.wantTaken("a foreseen one again", upcoming)
		if got := shown(); got != want {
			t.Errorf("after a foreseen one: %s, want %s", got, want)
		}
		draft := w.provider.Invoice("", customer, "draft", 5900)
		created, updated := w.provider.Event("invoice.created", draft), w.provider.Event("invoice.updated", draft)
		deleted := w.provider.Event("invoice.deleted", draft)
		w.wantTaken("a draft", created)
		if got := shown(); !strings.Contains(got, draft+" draft") {
			t.Errorf("with a draft: %s", got)
		}
		w.provider.Delete(draft)
		for what, e := range map[string]paymenttest.Event{
			"deleted": deleted, "updated before, and sent after": updated, "created, again": created,
		} {
			w.wantTaken(what, e)
		}
		w.wantTaken("deleted, again", deleted)
		if got := shown(); got != want {
			t.Errorf("after the draft was deleted: %s, want %s", got, want)
		}
		early := w.provider.Invoice("", customer, "draft", 100)
		gone := w.provider.Event("invoice.deleted", early)
		before := w.provider.Event("invoice.created", early)
		w.provider.Delete(early)
		w.wantTaken("deleted before anything was known of it", gone)
		w.wantTaken("created, which comes later", before)
		if got := shown(); got != want {
			t.Errorf("after one that was never known: %s, want %s", got, want)
		}
	})
}

// TestOneCustomerWhoeverAsks: an answer of the provider that was lost is asked for again by somebody else, in an
// organization that was renamed meanwhile, and there is still one customer, as it is called now.
func TestOneCustomerWhoeverAsks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.NextMinute()
		w.provider.Mute.Store(true)
		err := w.call(w.owner, http.MethodPost, "/checkout/session", m{"plan": "team"}, nil)
		testserver.WantStatus(t, "when the answer is lost", err, http.StatusServiceUnavailable)
		w.provider.Mute.Store(false)
		if n := len(w.provider.Customers()); n != 1 {
			t.Fatalf("%d customers are made, want one whose id was lost", n)
		}
		w.must(http.MethodPatch, "/organization/"+w.org, m{"name": "Payer & Sons"}, nil)
		w.owner = w.Join(w.owner, w.org, "admin")
		customer := w.checkout("team")
		name, email := w.provider.Customer(customer)
		if n := len(w.provider.Customers()); n != 1 || name != "Payer & Sons" || email != w.owner.Email {
			t.Errorf("%d customers, %q %q; want one with the name and the address of the second time", n, name, email)
		}
	})
}

// TestForgedEvents change nothing.
func TestForgedEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		sub := w.provider.Subscribe("", w.checkout("team"), "price_team", "active")
		good := w.provider.Event("customer.subscription.created", sub)
		forged := map[string]paymenttest.Event{
			"without a signature":  {Body: good.Body},
			"another body":         {Body: append(slices.Clone(good.Body), ' '), Signature: good.Signature},
			"another secret":       paymenttest.Sign(good.Body, "whsec_of_somebody_else_0123", time.Now()),
			"an old signature":     paymenttest.Sign(good.Body, paymenttest.Secret, time.Now().Add(-6*time.Minute)),
			"no event":             paymenttest.Sign([]byte(`{"id":""}`), paymenttest.Secret, time.Now()),
			"not JSON":             paymenttest.Sign([]byte(`{`), paymenttest.Secret, time.Now()),
			"nothing":              paymenttest.Sign(nil, paymenttest.Secret, time.Now()),
			"an unsigned scheme":   {Body: good.Body, Signature: "t=1,v0=00"},
			"an empty v1":          {Body: good.Body, Signature: fmt.Sprintf("t=%d,v1=", time.Now().Unix())},
			"a signature of zeros": {Body: good.Body, Signature: fmt.Sprintf("t=%d,v1=%064d", time.Now().Unix(), 0)},
		}
		calls := len(w.provider.Calls())
		for what, e := range forged {
			if status := w.post(e); status != http.StatusBadRequest {
				t.Errorf("%s: status %d, want 400", what, status)
			}
		}
		if n := len(w.provider.Calls()); n != calls {
			t.Errorf("the provider was asked %d times about forged events", n-calls)
		}
		w.wantPlan("after forged events", "free", "")
		w.wantTaken("the good one", good)
		w.wantPlan("after the good one", "team", "active")
		unknown := w.provider.Subscribe("", "cus_of_another_shop", "price_scale", "active")
		w.wantTaken("of another shop", w.provider.Event("customer.subscription.created", unknown))
		w.wantPlan("after one of another shop", "team", "active")
	})
}

// TestEventsInAnyOrder, many at once, some twice: in the end the plan is what the provider has.
func TestEventsInAnyOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		customer := w.checkout("team")
		sub, invoice := "", ""
		random := rand.New(rand.NewPCG(1, 2))
		for range 4 {
			var events []paymenttest.Event
			for _, status := range []string{"incomplete", "active", "past_due", "canceled", "active"} {
				price := []string{"price_team", "price_scale"}[random.IntN(2)]
				sub = w.provider.Subscribe(sub, customer, price, status)
				invoice = w.provider.Invoice(invoice, customer, []string{"open", "paid"}[random.IntN(2)], 100)
				events = append(events, w.provider.Event("customer.subscription.updated", sub),
					w.provider.Event("invoice.updated", invoice))
			}
			last := []string{"active", "canceled"}[random.IntN(2)]
			w.provider.Subscribe(sub, customer, "price_team", last)
			w.provider.Invoice(invoice, customer, "void", 100)
			events = append(events, events...) // each is sent twice
			random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			var all sync.WaitGroup
			for _, e := range events {
				all.Go(func() {
					for status := 0; status != http.StatusOK; {
						if status = w.post(e); status != http.StatusOK && status != http.StatusServiceUnavailable {
							t.Errorf("status %d", status)
							return
						}
					}
				})
			}
			all.Wait()
			w.wantPlan("in the end", map[string]string{"active": "team", "canceled": "free"}[last], last)
			var got struct{ Items []struct{ Status string } }
			w.must(http.MethodGet, "/billing/invoices", nil, &got)
			if len(got.Items) != 1 || got.Items[0].Status != "void" {
				t.Errorf("invoices %+v", got.Items)
			}
			calls := len(w.provider.Calls())
			for _, e := range events {
				w.wantTaken("replayed", e)
			}
			if n := len(w.provider.Calls()); n != calls {
				t.Errorf("replayed events had the provider asked %d times", n-calls)
			}
			w.NextMinute()
		}
	})
}

// TestCreditIsSpentOnce: what referrals earned lowers the next invoice, however often somebody begins to pay.
func TestCreditIsSpentOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		var code struct{ Code string }
		w.must(http.MethodPost, "/referral/code", nil, &code)
		bob := w.Person("bob")
		other := w.Organization(bob, "Referred")
		if err := bob.Call(t.Context(), http.MethodPost, "/referral/claim", url.Values{"organizationId": {other}},
			m{"code": code.Code}, nil); err != nil {
			t.Fatal(err)
		}
		w.provider.Away.Store(true)
		w.NextMinute()
		err := w.call(w.owner, http.MethodPost, "/checkout/session", m{"plan": "team"}, nil)
		testserver.WantStatus(t, "while the provider is away", err, http.StatusServiceUnavailable)
		w.provider.Away.Store(false)
		customer := w.checkout("team")
		for range 3 {
			w.checkout("team")
		}
		if cents := w.provider.Balance(customer); cents != 1500 {
			t.Errorf("the customer has %d cents, want 1500", cents)
		}
		var stats struct{ CreditCents int64 }
		w.must(http.MethodGet, "/referral/stats", nil, &stats)
		if stats.CreditCents != 0 {
			t.Errorf("%d cents are left", stats.CreditCents)
		}
	}, "WRIT_REFERRAL_CREDIT_CENTS", "1500")
}

// TestTheProviderIsAway: the plan that is known holds, decisions and reads go on, and what it posts waits there.
func TestTheProviderIsAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		customer := w.checkout("team")
		sub := w.provider.Subscribe("", customer, "price_team", "active")
		w.wantTaken("subscribed", w.provider.Event("customer.subscription.created", sub))
		key := w.TerminalKey(w.owner, w.org)
		w.provider.Subscribe(sub, customer, "price_scale", "active")
		event := w.provider.Event("customer.subscription.updated", sub)
		w.provider.Away.Store(true)
		if status := w.post(event); status != http.StatusServiceUnavailable {
			t.Errorf("an event while it is away: status %d, want 503, so that it comes again", status)
		}
		w.wantPlan("while it is away", "team", "active")
		for _, path := range []string{"/billing/usage", "/billing/invoices", "/dashboard/usage"} {
			w.must(http.MethodGet, path, nil, nil)
		}
		w.Declare(key.APIKey, "look")
		if status := w.ingest(key, 3); status != http.StatusOK {
			t.Errorf("ingest while it is away: status %d", status)
		}
		w.NextMinute()
		testserver.WantStatus(t, "the portal", w.call(w.owner, http.MethodPost, "/billing/portal", nil, nil),
			http.StatusServiceUnavailable)
		w.provider.Away.Store(false)
		w.wantTaken("sent again", event)
		w.wantPlan("when it is back", "scale", "active")
	})
}

// ingest sends a trace with spans, and gives the status of the answer.
func (w *world) ingest(key *client.Client, spans int) int {
	w.T.Helper()
	all := []m{}
	start := w.Database.Now().Format(time.RFC3339)
	for range spans {
		all = append(all, m{"id": database.NewID(), "kind": "span", "name": "s", "startTime": start})
	}
	batch := m{
		"trace": m{"id": database.NewID(), "name": "t", "startTime": start, "status": "ok"}, "spans": all,
	}
	err := key.Call(w.T.Context(), http.MethodPost, "/observability/spans", nil,
		m{"product": "p", "batches": []m{batch}}, nil)
	if err == nil {
		return http.StatusOK
	}
	return client.StatusOf(err)
}

// TestBillingIsOff without a key of the provider: nothing is limited, and everything says so.
func TestBillingIsOff(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := &world{Server: s, owner: s.Person("owner")}
		w.org = s.Organization(w.owner, "Free")
		for path, method := range map[string]string{
			"/checkout/session": "POST", "/billing/plan": "GET", "/billing/usage": "GET", "/billing/invoices": "GET",
			"/billing/portal": "POST",
		} {
			var body any
			if path == "/checkout/session" {
				body = m{"plan": "team"}
			}
			testserver.WantStatus(t, path, w.call(w.owner, method, path, body, nil), http.StatusNotFound)
		}
		if status := w.post(paymenttest.Sign([]byte(`{}`), paymenttest.Secret, time.Now())); status != 404 {
			t.Errorf("an event: status %d", status)
		}
		key := s.TerminalKey(w.owner, w.org)
		for range 3 {
			if status := w.ingest(key, 400); status != http.StatusOK {
				t.Errorf("ingest: status %d", status)
			}
		}
	})
}
