package telemetry_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/telemetry"
	"writ/internal/testenv"
)

// rich is a trace that has a part in every rollup.
func (e *env) rich(at time.Time, session string, n int) string {
	status := []string{"ok", "error", "denied"}[n%3]
	return fmt.Sprintf(`{"trace":{"id":%q,"name":"t","startTime":%q,"status":%q,"durationMs":%d,"sessionId":%q},"spans":[%s,%s,%s]}`,
		newID(), at.Format(time.RFC3339Nano), status, 10+n*7, session,
		generation(at, fmt.Sprint("m", n%2), 100+n),
		span("policy_call", "p", at,
			fmt.Sprintf(`"durationMs":%d,"attributes":{"policyId":"p%d","policyName":"Name %d","decision":%q,"matchedRuleId":"r%d"}`,
				n, n%2, n, []string{"allow", "deny", "hold"}[n%3], n%4)),
		span("span", "t", at, `"attributes":{"toolName":"Bash","inputTokens":3}`))
}

// damages are ways in which rollups could go wrong.
var damages = []struct {
	name, statement string
}{
	{name: "traces counted twice", statement: `UPDATE rollup_trace SET traces = traces * 2`},
	{name: "errors lost", statement: `UPDATE rollup_trace SET errors = 0`},
	{name: "hours lost", statement: `DELETE FROM rollup_trace WHERE bucket = (SELECT MIN(bucket) FROM rollup_trace)`},
	{
		name:      "tokens changed",
		statement: `UPDATE rollup_usage SET input_tokens = input_tokens + 1 WHERE dimension = 'model'`,
	},
	{name: "usage lost", statement: `DELETE FROM rollup_usage WHERE dimension = 'tool'`},
	{
		name:      "usage of nobody",
		statement: `UPDATE rollup_usage SET item = 'nobody' WHERE dimension = 'session' AND bucket = (SELECT MIN(bucket) FROM rollup_usage)`,
	},
	{name: "denials changed", statement: `UPDATE rollup_policy SET denied = denied + 1`},
	{name: "a policy renamed", statement: `UPDATE rollup_policy SET policy_name = 'x'`},
	{name: "a policy moved", statement: `UPDATE rollup_policy SET bucket = bucket - 1000`},
	{name: "rules lost", statement: `DELETE FROM rollup_rule`},
	{name: "minutes lost", statement: `DELETE FROM rollup_minute`},
	{name: "sessions lost", statement: `DELETE FROM rollup_session`},
	{name: "a session counted twice", statement: `UPDATE rollup_session SET sessions = sessions + 1`},
	{name: "an organization lost", statement: `UPDATE rollup_trace SET org_id = 'x'`},
}

// TestRebuildRepairs damages every rollup in every way; Verify tells, Rebuild
// makes them what they were.
func TestRebuildRepairs(t *testing.T) {
	t.Parallel()
	for _, damage := range damages {
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				session := newID()
				for i := range 9 {
					e.accept(orgA, e.rich(e.Now().Add(-time.Duration(i)*25*time.Minute), session, i))
				}
				e.wantClean()
				before := e.figures(orgA, "p0", "p1")
				e.Exec(damage.statement)
				if differences, err := e.Verify(t.Context()); err != nil || len(differences) == 0 {
					t.Errorf("verify: %+v, %v", differences, err)
				}
				if cmp.Equal(before, e.figures(orgA, "p0", "p1")) {
					t.Error("the damage shows nowhere")
				}
				if err := e.Rebuild(t.Context()); err != nil {
					t.Fatalf("rebuild: %v", err)
				}
				e.wantClean()
				if diff := cmp.Diff(before, e.figures(orgA, "p0", "p1")); diff != "" {
					t.Errorf("figures after the rebuild (-before +after):\n%s", diff)
				}
				e.accept(orgA, e.rich(e.Now(), session, 1)) // goes on from there
				e.wantClean()
			})
		})
	}
}

// whileIngesting runs the work beside senders that do not stop until it is done,
// and gives how many traces they stored.
func whileIngesting(e *env, work func(), services ...*telemetry.Service) (traces int64) {
	e.T.Helper()
	var stored atomic.Int64
	var senders sync.WaitGroup
	done := make(chan struct{})
	session := newID()
	for i, service := range services {
		senders.Go(func() {
			for n := i; ; n++ {
				r, err := send(e.T.Context(), service, orgA,
					body(e.rich(e.Now().Add(-time.Duration(n%5)*time.Hour), session, n)))
				if err != nil {
					e.T.Errorf("ingest: %v", err)
				}
				stored.Add(int64(r.Accepted))
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	defer func() { // also if the work ends the test
		close(done)
		senders.Wait()
		traces = stored.Load()
	}()
	work()
	return 0
}

// TestVerifyBesideIngest: a snapshot is consistent, so there is no false alarm.
func TestVerifyBesideIngest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		other := e.replica()
		stored := whileIngesting(e, func() {
			for range 10 {
				other.wantClean()
			}
		}, e.Service, e.Service, other.Service)
		e.wantTraces(orgA, stored)
	})
}

// TestRebuildBesideIngest: what is ingested while rollups are made anew is in
// them, once.
func TestRebuildBesideIngest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		operator := e.replica()
		stored := whileIngesting(e, func() {
			for range 20 {
				if err := operator.Rebuild(t.Context()); err != nil {
					t.Errorf("rebuild: %v", err)
				}
			}
		}, e.Service, e.Service)
		e.wantTraces(orgA, stored)
		e.wantClean()
	})
}

// TestIngestWaitsForARebuild stops a rebuild half-way and ingests into the hour
// that is being made anew: neither may take the other's rows for its own.
func TestIngestWaitsForARebuild(t *testing.T) {
	t.Parallel()
	e := open(t, dbtest.Postgres(t))
	e.accept(orgA, e.rich(e.Now(), newID(), 1))
	blocker, operator := e.replica(), e.replica()
	var running sync.WaitGroup
	resume := blocker.holdOpen(&running, func() error {
		return blocker.DB.Write(context.Background(), database.Change{Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			_, err := tx.Exec(ctx, `LOCK TABLE rollup_rule IN ROW EXCLUSIVE MODE`) // the last that a rebuild needs
			return err
		}})
	})
	running.Go(func() {
		if err := operator.Rebuild(t.Context()); err != nil {
			t.Errorf("rebuild: %v", err)
		}
	})
	testenv.Eventually(t, "the rebuild is stopped", func() bool { return e.waiting() == 1 })
	running.Go(func() {
		if _, err := send(t.Context(), e.Service, orgA, body(e.rich(e.Now(), newID(), 1))); err != nil {
			t.Errorf("ingest: %v", err)
		}
	})
	testenv.Eventually(t, "ingest waits for it", func() bool { return e.waiting() == 2 })
	resume()
	running.Wait()
	e.wantTraces(orgA, 2)
	e.wantClean()
}
