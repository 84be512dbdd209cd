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
func (s *store) shared(table string) int64 {
	s.t.Helper()
	return s.number(fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM %s GROUP BY %s HAVING count(*) > 1) AS keys`,
		table, rollupKeys[table]))
}

// wantMerged checks that every key has one row, and every value is where it was.
func (s *store) wantMerged(before figures) {
	s.t.Helper()
	for table := range rollupKeys {
		if n := s.shared(table); n != 0 {
			s.t.Errorf("%d keys of %s have several rows", n, table)
		}
	}
	if diff := cmp.Diff(before, s.figures(orgA, "p0", "p1")); diff != "" {
		s.t.Errorf("figures (-before +after):\n%s", diff)
	}
	s.wantClean()
}

func (s *store) merge() {
	s.t.Helper()
	if err := s.MergeWriters(s.t.Context()); err != nil {
		s.t.Fatalf("merge: %v", err)
	}
}

// TestMergeWriters opens many services one after another that all ingest into
// the same hours; afterwards there is one row for each key, and it says the same.
func TestMergeWriters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		const restarts = 12
		began := s.now()
		sessions := []string{newID(), newID()}
		for i := range restarts {
			service := s.another(s.db)
			for _, orgID := range []string{orgA, orgB} {
				var batches []string
				for n := range 20 {
					batches = append(batches, s.rich(began.Add(-time.Duration(n)*10*time.Minute), sessions[n%2], n+i))
				}
				if _, err := send(t.Context(), service, orgID, body(batches...)); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.advance(25 * time.Hour)
		before := s.figures(orgA, "p0", "p1")
		for table := range rollupKeys {
			if s.shared(table) == 0 {
				t.Fatalf("%s has nothing to merge", table)
			}
		}
		s.merge()
		s.wantMerged(before)
		if left := s.number(`SELECT count(*) FROM writer`); left > 2 { // this one and the last
			t.Errorf("%d writers are remembered", left)
		}
		// Late traces go into rows of their own, and are merged in their turn.
		s.accept(orgA, s.rich(began, sessions[0], 5))
		s.wantClean()
		next := s.another(s.db)
		s.advance(25 * time.Hour)
		before = s.figures(orgA, "p0", "p1")
		if err := next.MergeWriters(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.wantMerged(before)
	})
}

// TestMergeLeavesTheLiving: rows of writers that are seen, and of the hour that
// runs, stay where they are.
func TestMergeLeavesTheLiving(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		live := s.another(s.db)
		ingest := func() {
			for _, service := range []*telemetry.Service{s.Service, live} {
				if _, err := send(t.Context(), service, orgA, body(s.rich(s.now(), newID(), 1))); err != nil {
					t.Fatal(err)
				}
			}
		}
		ingest()
		s.merge()
		if n := s.shared("rollup_trace"); n != 1 {
			t.Errorf("%d hours of two writers, want that which runs", n)
		}
		if s.db.Engine() == database.SQLite {
			return // where no other server lives
		}
		for range 30 { // hours in which both do their work
			s.advance(time.Hour)
			s.merge()
			if err := live.MergeWriters(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.shared("rollup_trace"); n != 1 {
			t.Errorf("%d hours of two writers, want 1", n)
		}
		s.wantClean()
	})
}

// TestMergeBesideIngest merges the rows of writers that are not dead at all but
// ingest into those very hours, from two sides at once: nothing is lost or
// counted twice.
func TestMergeBesideIngest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		quiet := s.replica() // ingests, and is not seen
		for i := range 6 {
			service := s.another(s.db)
			if _, err := send(t.Context(), service, orgA, body(s.rich(s.now(), newID(), i))); err != nil {
				t.Fatal(err)
			}
		}
		s.advance(25 * time.Hour)
		mergers := []*store{s, s.replica()}
		stored := whileIngesting(s, func() {
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
		s.wantTraces(orgA, 6+stored)
		s.merge()
		s.wantClean()
	})
}
