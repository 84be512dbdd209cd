package layout_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/layout"
)

func TestMeasure(t *testing.T) {
	t.Parallel()
	var many []string
	for range layout.MaxFanOut + 1 {
		many = append(many, "internal/leaf")
	}
	packages := []layout.Package{
		{Path: "cmd/x", Imports: []string{"internal/area"}, Files: []layout.File{{"main.go", 10, []int{3}}}},
		{Path: "internal/area", Imports: many, Files: []layout.File{{"a.go", 30, []int{20, 5}}, {"b.go", 20, nil}}},
		{Path: "internal/leaf", Files: []layout.File{{"leaf.go", 40, []int{7}}}},
		{Path: "internal/dbtest", Imports: many, Files: []layout.File{{"test.go", 1000, []int{900}}}},
	}
	got := layout.Measure(good, nil, packages)
	want := layout.Measures{
		FanOut:    map[string]int{"internal/area": 16},
		Lines:     100,
		Files:     []int{10, 20, 30, 40},
		Functions: []int{3, 5, 7, 20},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("measures (-want +got):\n%s", diff)
	}
	const words = `non-test lines   100
files            4, lines p50 20, p90 40, max 40
functions        4, lines p50 5, p90 20, p99 20, max 20
fan-out over 15  1 packages
  internal/area                  16
unused           0 permissions of the table
`
	if diff := cmp.Diff(words, got.String()); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if got := layout.Measure(good, []string{"internal/leaf"}, packages).FanOut; len(got) != 0 {
		t.Errorf("floors are counted: %v", got)
	}
}

func TestReadTable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "layout_test.go")
	const text = `package layout_test

var table = layout.Table{
	// Programs.
	row("cmd/x", "internal/area",
		"internal/leaf"),
	row("internal/leaf"),
}

var floors = []string{"internal/leaf"}

func row(path string, mayImport ...string) layout.Row { return layout.Row{} }
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	table, floors, err := layout.ReadTable(file)
	if err != nil {
		t.Fatal(err)
	}
	want := layout.Table{
		{Package: "cmd/x", MayImport: []string{"internal/area", "internal/leaf"}},
		{Package: "internal/leaf", MayImport: []string{}},
	}
	if diff := cmp.Diff(want, table); diff != "" || len(floors) != 1 || floors[0] != "internal/leaf" {
		t.Errorf("floors %q, table (-want +got):\n%s", floors, diff)
	}
	if _, _, err := layout.ReadTable(file + ".missing"); err == nil {
		t.Error("a file that is not there is read")
	}
}
