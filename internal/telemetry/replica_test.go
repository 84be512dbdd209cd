package telemetry_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/telemetry"
	"writ/internal/testenv"
)

// TestReplicasShareSessions has two servers ingest into the same sessions and
// hours at once: nobody sees them get in each other's way, and sums are exact.
func TestReplicasShareSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const senders, requests = 4, 8
		sessions := []string{newID(), newID(), newID()}
		servers := []*env{e, e.replica()}
		var running sync.WaitGroup
		for i := range senders {
			running.Go(func() {
				for j := range requests {
					var batches []string
					for k := range sessions { // each sender in an order of its own
						batches = append(batches, trace(newID(), e.Now(),
							`"durationMs":10,`+inSession(sessions[(i+j+k)%len(sessions)]), generation(e.Now(), "m", 1)))
					}
					if r, err := send(t.Context(), servers[i%2].Service, orgA, body(batches...)); err != nil ||
						r.Accepted != len(batches) {
						t.Errorf("ingest: %+v, %v", r, err)
					}
				}
			})
		}
		running.Wait()
		e.wantTraces(orgA, senders*requests*3)
		for _, id := range sessions {
			whole, err := e.Session(t.Context(), orgA, id)
			if err != nil || whole == nil || whole.TraceCount != senders*requests ||
				whole.Usage.Input != senders*requests || len(whole.Traces) != senders*requests {
				t.Errorf("session: %+v, %v, want %d traces", whole, err, senders*requests)
			}
		}
		// Writers of one process may share every commit, and then one of them counts for both.
		if writers := e.Number(`SELECT count(DISTINCT writer) FROM rollup_trace`); writers != 2 &&
			e.DB.Engine() == database.PostgreSQL {
			t.Errorf("%d writers of rollups, want 2", writers)
		}
		e.wantClean()
	})
}

// TestReplicasAreSentTheSame sends the same traces to two servers at once, in
// opposite orders, as a client does that gives up too early.
func TestReplicasAreSentTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const traces = 60
		servers := []*env{e, e.replica()}
		var forth []string
		for range traces {
			forth = append(forth, trace(newID(), e.Now(), "", generation(e.Now(), "m", 1)))
		}
		back := slices.Clone(forth)
		slices.Reverse(back)
		var mu sync.Mutex
		accepted, duplicate := 0, 0
		var senders sync.WaitGroup
		for i, batches := range [][]string{forth, back, forth, back} {
			senders.Go(func() {
				r, err := send(t.Context(), servers[i%2].Service, orgA, body(batches...))
				if err != nil {
					t.Errorf("ingest: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				accepted, duplicate = accepted+r.Accepted, duplicate+r.Duplicate
			})
		}
		senders.Wait()
		if accepted != traces || duplicate != 3*traces {
			t.Errorf("%d accepted, %d duplicates, want %d and %d", accepted, duplicate, traces, 3*traces)
		}
		e.wantTraces(orgA, traces)
		e.wantClean()
	})
}

// reports tells of 100 tokens of a session, and ingests of 7.
func reports(e *env, session string) error {
	_, err := e.ReportUsage(context.Background(), orgA, "p", session, []telemetry.ReportedUsage{
		{Model: "m", Usage: telemetry.Usage{Input: 100}},
	})
	return err
}

func ingests(e *env, session string) error {
	_, err := send(context.Background(), e.Service, orgA,
		body(trace(newID(), e.Now(), inSession(session), generation(e.Now(), "m", 7))))
	return err
}

// TestReportBesideItsSpans has one server store a report while another stores
// spans that tell the same: it counts once, whichever comes first.
func TestReportBesideItsSpans(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		first, second func(*env, string) error
	}{
		{"the report first", reports, ingests},
		{"the spans first", ingests, reports},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := open(t, dbtest.Postgres(t))
			other := e.replica()
			session := newID()
			var running sync.WaitGroup
			commit := e.holdOpen(&running, func() error { return test.first(e, session) })
			done := make(chan struct{})
			running.Go(func() {
				defer close(done)
				if err := test.second(other, session); err != nil {
					t.Errorf("second: %v", err)
				}
			})
			testenv.Eventually(t, "the second is done, or waits for the first", func() bool {
				select {
				case <-done:
					return true
				default:
					return e.waiting() > 0
				}
			})
			commit()
			running.Wait()
			for by, items := range e.figures(orgA).Tokens {
				if by != "tool" && (len(items) != 1 || items[0].Usage.Input != 7) {
					t.Errorf("tokens by %s: %+v, want 7: those of the spans", by, items)
				}
			}
			e.wantClean()
		})
	}
}

// waiting is how many transactions wait for a lock of this database.
func (e *env) waiting() int64 {
	e.T.Helper()
	return e.Number(`SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
}

// holdOpen makes a change and keeps its transaction from committing until commit
// is called.
func (e *env) holdOpen(running *sync.WaitGroup, change func() error) (commit func()) {
	e.T.Helper()
	release := e.hold()
	running.Go(func() {
		if err := change(); err != nil {
			e.T.Errorf("first: %v", err)
		}
	})
	e.queued(1)
	written, end := make(chan struct{}), make(chan struct{})
	running.Go(func() {
		once := sync.OnceFunc(func() { close(written) })
		err := e.DB.Write(context.Background(), database.Change{Do: func(_ context.Context, tx *database.Tx) error {
			tx.BeforeCommit(func(context.Context) error { // behind the figures
				once()
				<-end
				return nil
			})
			return nil
		}})
		if err != nil {
			e.T.Errorf("hold open: %v", err)
		}
	})
	e.queued(2)
	release()
	<-written
	return func() { close(end) }
}

// TestDayChange ingests across midnight: the clock turns, a request that began
// before it has traces on both sides, and all of them are there.
func TestDayChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.Pass(e.Now().Truncate(day).Add(day).Sub(e.Now()) - 3*time.Microsecond)
		var ids, batches []string
		for range 10 { // a receipt is numbered by a microsecond
			ids = append(ids, newID())
			batches = append(batches, trace(ids[len(ids)-1], e.Now(), "", generation(e.Now(), "m", 1)))
		}
		e.accept(orgA, batches...)
		if days := e.Number(`SELECT count(DISTINCT received_day) FROM trace`); days != 2 {
			t.Errorf("received on %d days, want 2", days)
		}
		for range 3 {
			e.Pass(day)
			ids = append(ids, newID())
			e.accept(orgA, trace(ids[len(ids)-1], e.Now(), "", generation(e.Now(), "m", 1)))
		}
		for _, id := range ids {
			if detail, err := e.Trace(t.Context(), orgA, id); err != nil || detail == nil || len(detail.Spans) != 1 {
				t.Errorf("trace %s: %+v, %v", id, detail, err)
			}
		}
		e.wantTraces(orgA, int64(len(ids)))
		e.wantClean()
	})
}

// partitions are those of a table, by name.
func (e *env) partitions(table string) []string {
	e.T.Helper()
	names, err := database.Collect(e.T.Context(), e.DB, func(row database.Scanner) (name string, err error) {
		err = row.Scan(&name)
		return name, err
	}, `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
		WHERE p.relname = $1 ORDER BY c.relname`, table)
	if err != nil {
		e.T.Fatal(err)
	}
	return names
}

// TestReplicasMakeAPartition has several servers find the first trace of a day.
func TestReplicasMakeAPartition(t *testing.T) {
	t.Parallel()
	e := open(t, dbtest.Postgres(t))
	servers := []*env{e, e.replica(), e.replica()}
	for range 4 {
		var releases []func()
		var senders sync.WaitGroup
		for _, server := range servers {
			releases = append(releases, server.hold())
			senders.Go(func() {
				if _, err := send(t.Context(), server.Service, orgA,
					body(trace(newID(), e.Now(), "", generation(e.Now(), "m", 1)))); err != nil {
					t.Errorf("ingest: %v", err)
				}
			})
			server.queued(1)
		}
		for _, release := range releases {
			release()
		}
		senders.Wait()
		e.Pass(2 * day)
	}
	for _, table := range []string{"trace", "span"} {
		if names := e.partitions(table); len(names) != 8 {
			t.Errorf("partitions %v, want those of 8 days", names)
		}
	}
	e.wantTraces(orgA, 4*int64(len(servers)))
	e.wantClean()
}

// TestPolicyIsNamedTheSame gives a policy two names at one instant through two
// writers: what it is called does not depend on who asks, or in which order.
func TestPolicyIsNamedTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		other := e.replica()
		call := func(name string) string {
			return trace(newID(), e.Now(), "", span("policy_call", "p", e.Now(),
				fmt.Sprintf(`"attributes":{"policyId":"p","policyName":%q,"decision":"allow"}`, name)))
		}
		other.accept(orgA, call("Zebra"))
		e.accept(orgA, call("Ant"))
		other.accept(orgA, call("Bee"))
		if name := e.figures(orgA, "p").Policies["p"].Name; name != "Zebra" {
			t.Errorf("name = %q", name)
		}
		e.wantClean()
	})
}
