package traces_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// audience reads a tail as a client does that loses its connection all the time:
// it resumes behind the last event and drops what it has seen.
type audience struct {
	t      *testing.T
	filter client.TailFilter
	after  string
	seen   map[string]int
	last   int64 // index of the last decision
}

// read reads so many events from one connection, or until all is seen, and drops it.
func (a *audience) read(c *client.Client, org string, events, all int) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	stream, err := c.Tail(ctx, org, a.filter, a.after)
	if err != nil {
		a.t.Fatalf("open a tail: %v", err)
	}
	defer stream.Close()
	for n := 0; n < events && len(a.seen) < all; {
		e, err := stream.Next()
		if err != nil {
			a.t.Fatalf("%d of %d were told: %v", len(a.seen), all, err)
		}
		if a.take(e) {
			n++
		}
		a.after = stream.LastID()
	}
}

// take keeps an event, and reports whether it is a new one.
func (a *audience) take(e client.Event) bool {
	a.t.Helper()
	var event told
	if err := json.Unmarshal(e.Data, &event.TailEvent); err != nil {
		a.t.Fatalf("%s: %v", e.Data, err)
	}
	switch {
	case event.Trace == nil && event.Decision == nil:
		return false
	case event.Decision != nil && event.Decision.Index <= a.last:
		a.t.Errorf("decision %d came after %d", event.Decision.Index, a.last)
	case event.Decision != nil:
		a.last = event.Decision.Index
	}
	a.seen[event.key()]++
	return a.seen[event.key()] == 1
}

// TestTailSurvivesDroppedConnections while traces and decisions come in, through
// two servers where the database has several.
func TestTailSurvivesDroppedConnections(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		first := testserver.Start(t, o)
		servers := []*testserver.Server{first}
		if o.PostgresURL != "" {
			servers = append(servers, testserver.Start(t, o))
		}
		w := observe(t, first, first.Person("owner"))
		a := &audience{t: t, seen: map[string]int{}, last: -1}
		live := w.watch(w.owner, client.TailFilter{}, "")
		a.after = live.events.LastID()
		live.events.Close()

		const requests, perRequest, decisions = 40, 5, 60
		var senders sync.WaitGroup
		for i, s := range servers {
			agent := s.Public.WithKey(w.agent.APIKey)
			senders.Go(func() {
				for n := range requests / len(servers) {
					var batches []any
					for range perRequest {
						batches = append(batches, batch(w.trace(m{"name": fmt.Sprint("t", i, n)})))
					}
					if got, err := agent.Ingest(t.Context(), client.Spans{
						Product: "suite", Batches: sent(t, batches...),
					}); err != nil || got.Accepted != perRequest {
						t.Errorf("ingest: %+v, %v", got, err)
					}
				}
			})
		}
		senders.Go(func() {
			for range decisions {
				w.decides()
			}
		})
		const all = requests*perRequest + decisions
		for i := 0; len(a.seen) < all; i++ {
			s := servers[i%len(servers)] // as a balancer sends it
			a.read(s.Public.As(w.owner.AccessToken), w.org, 1+i*7%50, all)
		}
		senders.Wait()
		var traces int64
		if sum, err := w.owner.Summary(t.Context(), w.org, 1); err == nil {
			traces = sum.TotalTraces
		}
		if traces < requests*perRequest { // and the server's own
			t.Errorf("%d traces are there, want %d", traces, requests*perRequest)
		}
	})
}
