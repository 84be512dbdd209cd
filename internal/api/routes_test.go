package api_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database/dbtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRouteTable shows a change of who may call what as a change of a file that
// a reviewer reads.
func TestRouteTable(t *testing.T) {
	t.Parallel()
	s := start(t, dbtest.SQLite(t))
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "METHOD\tPATH\tMODE\tNEEDS\tTHROTTLE\tRECORDS")
	for _, r := range s.API.Routes() {
		var needs []string
		if r.Action != "" {
			needs = append(needs, "role:"+string(r.Action))
		}
		if r.Scope != "" {
			needs = append(needs, "scope:"+string(r.Scope))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Method, r.Path, r.Mode, orDash(strings.Join(needs, " ")),
			r.Limits(), orDash(r.Audit))
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/routes.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("the route table changed (-want +got); run with -update if that is meant:\n%s", diff)
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
