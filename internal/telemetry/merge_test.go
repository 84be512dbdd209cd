package telemetry_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/telemetry"
)

// rollupKeys are the tables of rollups and what names a row beside its writer.
var rollupKeys = map[string]string{
	"rollup_trace": "org_id, bucket", "rollup_minute": "org_id, bucket", "rollup_session": "org_id, bucket",
	"rollup_usage":  "org_id, dimension, bucket, item",
	"rollup_policy": "org_id, policy_id, bucket", "rollup_rule": "org_id, policy_id, bucket, rule_id",
}

// shared is how many keys of a table have rows of more than one writer.
func (e *env) shared(table string) int64 {
	e.T.Helper()
	return e.Number(fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM %s GROUP BY %s HAVING count(*) > 1) AS keys`,
		table, rollupKeys[table]))
}

// wantMerged checks that every key has one row, and every value is where it was.
func (e *env) wantMerged(before figures) {
	e.T.Helper()
	for table := range rollupKeys {
		if n := e.shared(table); n != 0 {
			e.T.Errorf("%d keys of %s have several rows", n, table)
		}
	}
	if diff := cmp.Diff(before, e.figures(orgA, "p0", "p1")); diff != "" {
		e.T.Errorf("figures (-before +after):\n%s", diff)
	}
	e.wantClean()
}

func (e *env) merge() {
	e.T.Helper()
	if err := e.MergeWriters(e.T.Context()); err != nil {
		e.T.Fatalf("merge: %v", err)
	}
}

// TestMergeWriters opens many services one after another that all ingest into
// the same hours; afterwards there is one row for each key, and it says the same.
func TestMergeWriters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const restarts = 12
		began := e.Now()
		sessions := []string{newID(), newID()}
		for i := range restarts {
			service := e.another(e.DB)
			for _, orgID := range []string{orgA, orgB} {
				var batches []string
				for n := range 20 {
					batches = append(batches, e.rich(began.Add(-time.Duration(n)*10*time.Minute), sessions[n%2], n+i))
				}
				if _, err := send(t.Context(), service, orgID, body(batches...)); err != nil {
					t.Fatal(err)
				}
			}
		}
		e.Pass(25 * time.Hour)
		before := e.figures(orgA, "p0", "p1")
		for table := range rollupKeys {
			if e.shared(table) == 0 {
				t.Fatalf("%s has nothing to merge", table)
			}
		}
		e.merge()
		e.wantMerged(before)
		if left := e.Number(`SELECT count(*) FROM writer`); left > 2 { // this one and the last
			t.Errorf("%d writers are remembered", left)
		}
		// Late traces go into rows of their own, and are merged in their turn.
		e.accept(orgA, e.rich(began, sessions[0], 5))
		e.wantClean()
		next := e.another(e.DB)
		e.Pass(25 * time.Hour)
		before = e.figures(orgA, "p0", "p1")
		if err := next.MergeWriters(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.wantMerged(before)
	})
}

// TestMergeLeavesTheLiving: rows of writers that are seen, and of the hour that
// runs, stay where they are.
func TestMergeLeavesTheLiving(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		live := e.another(e.DB)
		ingest := func() {
			for _, service := range []*telemetry.Service{e.Service, live} {
				if _, err := send(t.Context(), service, orgA, body(e.rich(e.Now(), newID(), 1))); err != nil {
					t.Fatal(err)
				}
			}
		}
		ingest()
		e.merge()
		if n := e.shared("rollup_trace"); n != 1 {
			t.Errorf("%d hours of two writers, want that which runs", n)
		}
		if e.DB.Engine() == database.SQLite {
			return // where no other server lives
		}
		for range 30 { // hours in which both do their work
			e.Pass(time.Hour)
			e.merge()
			if err := live.MergeWriters(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := e.shared("rollup_trace"); n != 1 {
			t.Errorf("%d hours of two writers, want 1", n)
		}
		e.wantClean()
	})
}

// TestMergeBesideIngest merges the rows of writers that are not dead at all but
// ingest into those very hours, from two sides at once: nothing is lost or
// counted twice.
func TestMergeBesideIngest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		quiet := e.replica() // ingests, and is not seen
		for i := range 6 {
			service := e.another(e.DB)
			if _, err := send(t.Context(), service, orgA, body(e.rich(e.Now(), newID(), i))); err != nil {
				t.Fatal(err)
			}
		}
		e.Pass(25 * time.Hour)
		mergers := []*env{e, e.replica()}
		stored := whileIngesting(e, func() {
			var merging sync.WaitGroup
			for _, merger := range mergers {
				merging.Go(func() {
					for range 10 {
						merger.merge()
						merger.wantClean()
					}
				})
			}
			merging.Wait()
		}, quiet.Service, quiet.Service)
		e.wantTraces(orgA, 6+stored)
		e.merge()
		e.wantClean()
	})
}
