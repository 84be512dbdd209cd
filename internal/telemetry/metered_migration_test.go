package telemetry_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/telemetry"
)

// TestAnUpgradeCountsWhatIsKept: the migration makes of the rows what would have been counted as they came.
func TestAnUpgradeCountsWhatIsKept(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../database/migrations/telemetry/*_metered.sql")
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, e *env) {
		begin := e.Now()
		for round := range 3 {
			e.sendSome(t, []*telemetry.Service{e.Service, e.Service}, uint64(round))
			_, err := e.Grow(t.Context(), orgA, telemetry.Position{Next: int64(round)},
				telemetry.Position{Next: int64(round) + 1}, nil, []telemetry.Decided{
					{At: e.Now(), Agent: "a", Verdict: "allow"}, {At: e.Now(), Agent: "b", Verdict: "deny"},
				})
			if err != nil {
				t.Fatal(err)
			}
			e.Pass(day)
		}
		used := func() (all []telemetry.Metered) {
			all, err := e.MeteredOf(t.Context(), orgA, telemetry.MeteredQuery{From: begin, Until: e.Now()})
			if err != nil || all[0].Spans == 0 || all[0].Agents != 2 {
				t.Fatalf("%+v, %v", all, err)
			}
			for i := range all {
				all[i].StoredBytes = 0 // not known of what is there
			}
			return all
		}
		want := used()
		statements := []string{`DELETE FROM metered_day`, `DELETE FROM metered_agent`}
		for part := range strings.SplitSeq(string(text), ";\n") {
			if at := strings.Index(part, "INSERT INTO"); at >= 0 {
				statements = append(statements, part[at:])
			}
		}
		err := e.DB.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			for _, statement := range statements {
				if _, err := tx.Exec(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil || len(statements) != 4 {
			t.Fatalf("%d statements, %v", len(statements), err)
		}
		if diff := cmp.Diff(want, used()); diff != "" {
			t.Errorf("(-counted +migrated):\n%s", diff)
		}
	})
}
