package api_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRouteTable shows a change of who may call what as a change of a file that
// a reviewer reads.
func TestRouteTable(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
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
		if r.Operators {
			needs = append(needs, "operator")
		}
		if r.ForStopped {
			needs = append(needs, "stopped-too")
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

// TestControllersAnswer: each controller of the specification's map has routes, under its own name.
func TestControllersAnswer(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("testdata/routes.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"auth", "organization", "api-keys", "policies", "iap", "delegation", "observability", "mcp", "agent", "pap",
		"audit-log", "dashboard", "notification", "search", "referral", "blog", "access-requests",
		"user", "admin/dashboard", "checkout", "billing", "certificate", "proxy-enforcement",
	} {
		served := 0
		for line := range strings.Lines(string(golden)) {
			if path := strings.Fields(line)[1]; path == "/"+name || strings.HasPrefix(path, "/"+name+"/") {
				served++
			}
		}
		if served == 0 {
			t.Errorf("no route of /%s", name)
		}
	}
}

// TestRoutesAreWrittenOnce: every route of the table is declared in one place with its whole path, so that a search for
// the path finds its handler.
func TestRoutesAreWrittenOnce(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("testdata/routes.golden")
	if err != nil {
		t.Fatal(err)
	}
	served, written := map[string]int{}, declaredRoutes(t)
	for line := range strings.Lines(string(golden)) {
		columns := strings.Fields(line)
		if columns[0] == "METHOD" {
			continue
		}
		served[columns[0]+" "+columns[1]] = 1
	}
	if diff := cmp.Diff(served, written); diff != "" {
		t.Errorf("routes that are served and how often their path is declared as a literal (-want +got):\n%s", diff)
	}
}

// declaredRoutes counts calls such as route.Get("/path", ...) in the sources of the edge, by method and path.
func declaredRoutes(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if method, path, ok := declaration(n); ok {
				found[method+" "+path]++
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// declaration is the method and the literal path of a call that declares a route.
func declaration(n ast.Node) (method, path string, ok bool) {
	call, _ := n.(*ast.CallExpr)
	if call == nil || len(call.Args) != 2 {
		return "", "", false
	}
	selector, _ := call.Fun.(*ast.SelectorExpr)
	literal, _ := call.Args[0].(*ast.BasicLit)
	if selector == nil || literal == nil {
		return "", "", false
	}
	if from, _ := selector.X.(*ast.Ident); from == nil || from.Name != "route" {
		return "", "", false
	}
	path, err := strconv.Unquote(literal.Value)
	return strings.ToUpper(selector.Sel.Name), path, err == nil && strings.HasPrefix(path, "/")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
