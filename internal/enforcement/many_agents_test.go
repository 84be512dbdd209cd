package enforcement_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"writ/internal/agent"
	"writ/internal/database"
	"writ/internal/enforcement"
)

const manyAgents = 10_000

// manyRegistered stores many agents of ada's, each with its key.
func (e *env) manyRegistered(n int) {
	e.T.Helper()
	keys := e.manyKeys(e.acme, e.other.KeyID, n)
	agents, bound := make([][]any, n), make([][]any, n)
	for i := range agents {
		id := fmt.Sprintf("agent-%d", i)
		agents[i] = []any{e.acme, id, "Agent " + id, e.ada, "", "", "", 0, "", 1, 1}
		bound[i] = []any{e.acme, id, keys[i]}
	}
	e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
		if err := tx.Insert(ctx, `INSERT INTO agent (org_id, id, name, owner_id, product, environment, description,
			intent_required, suspended_for, created_at, updated_at)`, agents, ``); err != nil {
			return err
		}
		return tx.Insert(ctx, `INSERT INTO agent_key (org_id, agent_id, key_id)`, bound, ``)
	})
}

// decider is an organization with a policy, in which a registered agent calls with its bound key.
func decider(t testing.TB, others int) (*env, enforcement.Request) {
	t.Helper()
	e := newEnv(t, database.Options{SQLitePath: filepath.Join(t.TempDir(), "writ.db")})
	e.active("rules", allowAll)
	if others > 0 {
		e.manyRegistered(others)
		e.register("billing", agent.Profile{Name: "Billing", Keys: []string{e.agent.KeyID}})
	}
	return e, as("billing")
}

// TestADecisionDoesTheSameBesideManyAgents: with ten thousand registered ones it allocates at most 3 % more than with
// none. What it allocates does not depend on the machine, as its time does.
func TestADecisionDoesTheSameBesideManyAgents(t *testing.T) { // not parallel: allocations are those of the process
	allocations := func(others int) float64 {
		e, request := decider(t, others)
		least := -1.0
		for range 5 { // an entry now and then completes a tile of the log
			n := testing.AllocsPerRun(100, func() {
				if got := e.decide(request); !got.Allowed() {
					t.Fatalf("%+v", got)
				}
			})
			if least < 0 || n < least {
				least = n
			}
		}
		return least
	}
	none, many := allocations(0), allocations(manyAgents)
	t.Logf("a decision allocates %.0f times without agents, and %.0f times beside %d", none, many, manyAgents)
	if many > 1.03*none {
		t.Errorf("a decision allocates %.0f times beside %d agents, and %.0f times without any", many, manyAgents, none)
	}
}

// BenchmarkDecideBesideAgents is a decision with and without ten thousand registered agents. Beside the time it tells
// the CPU time of the process.
func BenchmarkDecideBesideAgents(b *testing.B) {
	for _, others := range []int{0, manyAgents} {
		b.Run(fmt.Sprintf("agents=%d", others), func(b *testing.B) {
			e, request := decider(b, others)
			if got := e.decide(request); !got.Allowed() {
				b.Fatalf("%+v", got)
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu()
			var failed atomic.Int64
			decideAll(b, e, request, 1, &failed)
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
			if failed.Load() > 0 {
				b.Fatalf("%d failed", failed.Load())
			}
		})
	}
}
