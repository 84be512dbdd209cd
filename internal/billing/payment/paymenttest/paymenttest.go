// Package paymenttest is a stand-in of the payment provider for tests: the part of its published HTTP API that Writ
// calls, on loopback, with subscriptions that a test changes, and events that it signs as the provider does.
package paymenttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v82/webhook"
)

// The settings of the stand-in.
const (
	Key    = "sk_test_stand_in"
	Secret = "whsec_stand_in_0123456789"
	// Plans are a free one with little, and two that are paid for.
	Plans = `[
		{"id": "free", "name": "Free", "decisions": 2, "spans": 5, "seats": 2},
		{"id": "team", "name": "Team", "priceId": "price_team", "decisions": 1000, "spans": 50, "seats": 5},
		{"id": "scale", "name": "Scale", "priceId": "price_scale"}
	]`
	// Generous are plans without quotas.
	Generous = `[{"id": "free", "name": "Free"}, {"id": "team", "name": "Team", "priceId": "price_team"}]`
)

type object = map[string]any

// Provider is the stand-in.
type Provider struct {
	URL  string
	Away atomic.Bool // it answers nothing but 500
	Mute atomic.Bool // it does what it is asked, and its answers are lost

	t      *testing.T
	next   atomic.Int64 // number of the next thing
	mu     sync.Mutex   // guards the rest
	things map[string]object
	done   map[string]answered // by idempotency key
	calls  []string
}

// answered is what was asked under an idempotency key, and the answer.
type answered struct {
	form   string
	answer object
}

// New starts a stand-in that ends with the test.
func New(t *testing.T) *Provider {
	t.Helper()
	p := &Provider{t: t, things: map[string]object{}, done: map[string]answered{}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// Settings are those of a server that uses it.
func (p *Provider) Settings(plans string, more ...string) []string {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), "plans.json")
	if err := os.WriteFile(path, []byte(plans), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return append([]string{
		"STRIPE_SECRET_KEY", Key, "STRIPE_WEBHOOK_SECRET", Secret, "STRIPE_API_URL", p.URL,
		"WRIT_BILLING_PLANS_FILE", path,
	}, more...)
}

// ServeHTTP answers as the provider's API does.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if p.Away.Load() {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	status, answer := http.StatusUnauthorized, failure("authentication_error", "")
	if r.Header.Get("Authorization") == "Bearer "+Key && r.ParseForm() == nil {
		status, answer = p.answer(r)
	}
	if p.Mute.Load() {
		status, answer = http.StatusInternalServerError, failure("api_error", "")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func failure(kind, code string) object {
	return object{"error": object{"type": kind, "code": code, "message": kind}}
}

func (p *Provider) answer(r *http.Request) (int, object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, r.Method+" "+r.URL.Path)
	key := r.Header.Get("Idempotency-Key")
	if before, asked := p.done[key]; key != "" && asked {
		if before.form != r.Form.Encode() {
			return http.StatusBadRequest, failure("idempotency_error", "")
		}
		return http.StatusOK, before.answer
	}
	var made object
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	switch r.Method + " " + parts[0] {
	case "POST customers":
		made = p.postCustomer(r, parts)
	case "GET customers":
		made = list(p.find("customer_balance_transaction", "customer", parts[1]))
	case "GET subscriptions":
		made = list(p.find("subscription", "customer", r.Form.Get("customer")))
	case "GET invoices":
		made = p.things[parts[1]]
	case "POST checkout", "POST billing_portal":
		if p.things[r.Form.Get("customer")] != nil {
			id := p.id("cs")
			made = object{"id": id, "object": "checkout.session", "url": "https://pay.example/" + id}
		}
	}
	switch {
	case made == nil && r.Method == http.MethodGet:
		return http.StatusNotFound, failure("invalid_request_error", "resource_missing")
	case made == nil:
		return http.StatusBadRequest, failure("invalid_request_error", "")
	}
	p.done[key] = answered{r.Form.Encode(), made}
	return http.StatusOK, made
}

func (p *Provider) postCustomer(r *http.Request, parts []string) object {
	switch about := (object{"name": r.Form.Get("name"), "email": r.Form.Get("email")}); {
	case len(parts) == 1:
		about["id"], about["object"] = p.id("cus"), "customer"
		return p.keep(about)
	case len(parts) == 2 && p.things[parts[1]] != nil:
		maps.Copy(p.things[parts[1]], about)
		return p.things[parts[1]]
	}
	amount, err := strconv.ParseInt(r.Form.Get("amount"), 10, 64)
	if err != nil || p.things[parts[1]] == nil {
		return nil
	}
	return p.keep(object{
		"id": p.id("cbtxn"), "object": "customer_balance_transaction", "customer": parts[1], "amount": amount,
		"metadata": object{"creditId": r.Form.Get("metadata[creditId]")},
	})
}

func list(all []object) object { return object{"object": "list", "data": all, "has_more": false} }

func (p *Provider) id(kind string) string { return fmt.Sprintf("%s_%d", kind, p.next.Add(1)) }

func (p *Provider) keep(o object) object { p.things[o["id"].(string)] = o; return o }

func (p *Provider) find(kind, member, value string) []object {
	all := []object{}
	for i := range p.next.Load() + 1 {
		for id, o := range p.things {
			if strings.HasSuffix(id, "_"+strconv.FormatInt(i, 10)) && o["object"] == kind && o[member] == value {
				all = append(all, o)
			}
		}
	}
	return all
}

// Customers are their ids, in the order in which they were made.
func (p *Provider) Customers() (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.next.Load() + 1 {
		if id := fmt.Sprintf("cus_%d", i); p.things[id] != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Customer is the name and the address of one.
func (p *Provider) Customer(id string) (name, email string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.things[id]
	return c["name"].(string), c["email"].(string)
}

// Delete deletes something, as people delete a draft.
func (p *Provider) Delete(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.things, id)
}

// Upcoming is an event about an invoice that is only foreseen: it has no id.
func (p *Provider) Upcoming(customer string) Event {
	return p.event("invoice.upcoming", object{"object": "invoice", "customer": customer, "status": "draft"})
}

// Balance is what a customer has from credits, in cents.
func (p *Provider) Balance(customer string) (cents int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.find("customer_balance_transaction", "customer", customer) {
		cents -= t["amount"].(int64)
	}
	return cents
}

// Calls are the requests that it answered.
func (p *Provider) Calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.calls...)
}

// Subscribe makes a subscription, or changes the one with the id.
func (p *Provider) Subscribe(id, customer, price, status string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" {
		id = p.id("sub")
	}
	end := time.Now().Add(30 * 24 * time.Hour).Unix()
	p.keep(object{
		"id": id, "object": "subscription", "customer": customer, "status": status,
		"created": 1_700_000_000 + p.next.Load(),
		"items": list([]object{
			{"id": "si_1", "object": "subscription_item", "current_period_end": end, "price": object{"id": price}},
		}),
	})
	return id
}

// Invoice makes an invoice, or changes the one with the id.
func (p *Provider) Invoice(id, customer, status string, cents int64) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" {
		id = p.id("in")
	}
	paid := int64(0)
	if status == "paid" {
		paid = cents
	}
	p.keep(object{
		"id": id, "object": "invoice", "customer": customer, "status": status, "number": "N-" + id, "currency": "usd",
		"amount_due": cents, "amount_paid": paid, "created": 1_700_000_000 + p.next.Load(),
		"hosted_invoice_url": "https://pay.example/i/" + id,
	})
	return id
}

// Event is what the provider would post about something as it is now, or as it was then.
type Event struct {
	Body      []byte
	Signature string
}

// Event makes one. It has an id of its own.
func (p *Provider) Event(kind, id string) Event {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.event(kind, p.things[id])
}

func (p *Provider) event(kind string, about object) Event {
	p.t.Helper()
	body, err := json.Marshal(object{
		"id": p.id("evt"), "object": "event", "type": kind, "created": time.Now().Unix(),
		"data": object{"object": about},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return Sign(body, Secret, time.Now())
}

// Sign signs a body.
func Sign(body []byte, secret string, at time.Time) Event {
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload: body, Secret: secret, Timestamp: at,
	})
	return Event{body, signed.Header}
}
