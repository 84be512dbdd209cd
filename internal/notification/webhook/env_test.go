package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/outbound"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// env is an organization with an administrator and a target.
type env struct {
	*testenv.Env
	hooks  *webhook.Service
	target *target
	org    string
	admin  principal.Principal
	number int64 // of the last event
}

var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		base.Set(start)
		e := &env{Env: base, target: &target{}}
		e.hooks = e.replica()
		body(t, e.elsewhere())
	})
}

// elsewhere is the same env with an organization of its own.
func (e *env) elsewhere() *env {
	e.T.Helper()
	other := *e
	other.org = e.Organization("Acme")
	other.admin = testenv.Person(database.NewID(), other.org, principal.Admin)
	return &other
}

// replica is another process on the same database.
func (e *env) replica() *webhook.Service { return e.replicaTo(e.target) }

func (e *env) replicaTo(poster webhook.Poster) *webhook.Service {
	e.T.Helper()
	return webhook.NewService(e.DB, e.Log, testenv.Sealer(e.T, 7), poster, "https://writ.example.org")
}

func (e *env) write(do func(ctx context.Context, tx *database.Tx) error) {
	e.T.Helper()
	e.Write(e.org, do)
}

func (e *env) create(n webhook.New) webhook.Issued {
	e.T.Helper()
	if n.Name == "" {
		n.Name = "ops"
	}
	if n.Kind == "" {
		n.Kind = webhook.Generic
	}
	if n.URL == "" {
		n.URL = "https://hooks.example.org/secret-path"
	}
	made, err := e.hooks.Create(e.T.Context(), e.admin, n)
	if err != nil {
		e.T.Fatal(err)
	}
	return made
}

// happen queues so many events of a kind.
func (e *env) happen(kind notice.Kind, times int) {
	e.T.Helper()
	for range times {
		e.number++
		e.write(func(ctx context.Context, tx *database.Tx) error {
			return e.hooks.Enqueue(ctx, tx, e.org, []notice.Event{e.event(kind)})
		})
	}
}

func (e *env) event(kind notice.Kind) notice.Event {
	return notice.Event{
		OrgID:  e.org,
		Number: e.number,
		Kind:   kind,
		At:     e.DB.Now(),
		Request: notice.Request{
			ID:        "11111111-1111-4111-8111-111111111111",
			Server:    "bank",
			Tool:      fmt.Sprintf("pay%d", e.number),
			Status:    "pending",
			Risk:      "high",
			Reasons:   []string{"first seen"},
			Reason:    "more than 100",
			Arguments: `{"amount":500,"password":"hunter2"}`,
			CreatedAt: start,
			ExpiresAt: start.Add(time.Hour),
		},
	}
}

func (e *env) deliver() {
	e.T.Helper()
	if err := e.hooks.Deliver(e.T.Context()); err != nil {
		e.T.Fatal(err)
	}
}

// deliveries are those of a webhook with a status, the newest first.
func (e *env) deliveries(id string, status webhook.Status) []webhook.Delivery {
	e.T.Helper()
	found, err := e.hooks.Deliveries(e.T.Context(), e.admin, id, status, "", page.MaxLimit)
	if err != nil {
		e.T.Fatal(err)
	}
	return found.Items
}

func (e *env) get(id string) webhook.Webhook {
	e.T.Helper()
	got, err := e.hooks.Get(e.T.Context(), e.admin, id)
	if err != nil {
		e.T.Fatal(err)
	}
	return got
}

// target is a receiver that a test can break. It answers 200 unless told otherwise.
type target struct {
	mu     sync.Mutex // guards the rest
	down   bool
	status int
	got    []outbound.Request
	tries  int
	// retryAfter is what it asks for, in every answer.
	retryAfter string
	before     func(r outbound.Request) // runs when a request comes, outside of the lock
}

func (g *target) Check(url string) error {
	if url == "https://10.0.0.1/" {
		return &outbound.Refusal{Reason: "its address is not a public one"}
	}
	return nil
}

func (g *target) Post(_ context.Context, r outbound.Request) (outbound.Answer, error) {
	g.mu.Lock()
	g.tries++
	before := g.before
	g.mu.Unlock()
	if before != nil {
		before(r)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down {
		return outbound.Answer{}, &outbound.Failure{
			Reason: "the target did not answer in time", Cause: errors.New("10.1.2.3:443: i/o timeout"),
		}
	}
	status := g.status
	if status == 0 {
		status = 200
	}
	if status < 300 {
		g.got = append(g.got, r)
	}
	return outbound.Answer{Status: status, Header: http.Header{"Retry-After": {g.retryAfter}}}, nil
}

func (g *target) set(down bool, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down, g.status = down, status
}

// numbers are those of the events that arrived, as they arrived.
func (g *target) numbers(t *testing.T) []int64 {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	var numbers []int64
	for _, r := range g.got {
		numbers = append(numbers, decode(t, r.Body).Number)
	}
	return numbers
}

func (g *target) tried() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tries
}
