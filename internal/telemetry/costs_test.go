package telemetry_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/telemetry"
)

// Traces of every class of cost, and at its borders, are found by what they cost at least.
func TestTracesByCost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *env) {
		costs := []int64{0, 1, 1 << 62}
		for border := int64(1_000_000); border <= 1_000_000<<20; border <<= 2 {
			costs = append(costs, border-1, border, border+1)
		}
		for _, cost := range costs {
			id := newID()
			s.accept(orgA, trace(id, s.Now(), ""))
			s.setCost(id, cost)
		}
		for _, least := range append(costs, 2, 5_000_000, 999_999_999, 300_000_000_000) {
			found, err := s.ListTraces(t.Context(), orgA, telemetry.TraceFilter{MinCostNanos: &least, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			var got, want []int64
			for _, item := range found.Items {
				got = append(got, item.Usage.CostNanos)
			}
			for _, cost := range costs {
				if cost >= least {
					want = append(want, cost)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("at least %d: %v, want %v", least, got, want)
			}
		}
	})
}

func (e *env) setCost(id string, nanos int64) {
	e.T.Helper()
	err := e.DB.Write(e.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE trace SET cost_nanos = $1 WHERE id = $2`, nanos, id)
		return err
	}})
	if err != nil {
		e.T.Fatal(err)
	}
}

// TestDearTracesHaveAnIndex asks SQLite how it finds them: without it, a dear trace among a million cheap ones would be
// looked for in all of them.
func TestDearTracesHaveAnIndex(t *testing.T) {
	t.Parallel()
	e := open(t, dbtest.SQLite(t))
	query, args := e.TraceListQuery(orgA, telemetry.TraceFilter{MinCostNanos: new(int64(20_000_000_000)), Limit: 100})
	steps, err := database.Collect(t.Context(), e.DB, func(row database.Scanner) (step string, err error) {
		var id, parent, unused int
		err = row.Scan(&id, &parent, &unused, &step)
		return step, err
	}, `EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(steps, "; ")
	const search = "INDEX trace_by_cost (org_id=? AND <expr>=? AND start_time>?)"
	if got := strings.Count(plan, search); got != 3 || strings.Contains(plan, "trace_by_start") {
		t.Errorf("%q is used %d times, want once for each class: %s", search, got, plan)
	}
}
