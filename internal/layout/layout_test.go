package layout_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/layout"
)

var good = layout.Table{
	{Package: "cmd/x", MayImport: []string{"internal/area"}},
	{Package: "internal/area", MayImport: []string{"internal/leaf"}},
	{Package: "internal/leaf"},
}

func TestCheckTable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		table layout.Table
		want  []string
	}{
		"every permission points down": {table: good},
		"a cycle of two": {
			table: layout.Table{
				{Package: "a", MayImport: []string{"b"}},
				{Package: "b", MayImport: []string{"a"}},
			},
			want: []string{"the table lets b import a, which is not below it"},
		},
		"a cycle of three": {
			table: layout.Table{
				{Package: "a", MayImport: []string{"b"}},
				{Package: "b", MayImport: []string{"c"}},
				{Package: "c", MayImport: []string{"a"}},
			},
			want: []string{"the table lets c import a, which is not below it"},
		},
		"a package that may import itself": {
			table: layout.Table{{Package: "a", MayImport: []string{"a"}}},
			want:  []string{"the table lets a import a, which is not below it"},
		},
		"a row that is there twice": {
			table: layout.Table{{Package: "a"}, {Package: "a"}},
			want:  []string{"the table has two rows for a"},
		},
		"a permission without a row": {
			table: layout.Table{{Package: "a", MayImport: []string{"b"}}},
			want:  []string{"the table lets a import b, which has no row"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, layout.CheckTable(c.table)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckImports(t *testing.T) {
	t.Parallel()
	var (
		program = layout.Package{Path: "cmd/x", Imports: []string{"internal/area"}}
		area    = layout.Package{Path: "internal/area", Imports: []string{"internal/leaf"}}
		leaf    = layout.Package{Path: "internal/leaf"}
	)
	cases := map[string]struct {
		packages []layout.Package
		want     []string
	}{
		"all as the table says": {packages: []layout.Package{program, area, leaf}},
		"fewer imports than allowed": {
			packages: []layout.Package{program, {Path: "internal/area"}, leaf},
		},
		"an import that points up": {
			packages: []layout.Package{program, area, {Path: "internal/leaf", Imports: []string{"internal/area"}}},
			want:     []string{"internal/leaf imports internal/area, which the table does not allow"},
		},
		"an import that points down, but past what is allowed": {
			packages: []layout.Package{
				{Path: "cmd/x", Imports: []string{"internal/area", "internal/leaf"}}, area, leaf,
			},
			want: []string{"cmd/x imports internal/leaf, which the table does not allow"},
		},
		"a package without a row": {
			packages: []layout.Package{program, area, leaf, {Path: "internal/stray"}},
			want:     []string{"internal/stray has no row in the table"},
		},
		"a row without a package": {
			packages: []layout.Package{program, leaf},
			want:     []string{"the table has a row for internal/area, which does not exist"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, layout.CheckImports(good, c.packages)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckUnused(t *testing.T) {
	t.Parallel()
	program := layout.Package{Path: "cmd/x", Imports: []string{"internal/area"}}
	area := layout.Package{Path: "internal/area", Imports: []string{"internal/leaf"}}
	if got := layout.CheckUnused(good, []layout.Package{program, area}); got != nil {
		t.Errorf("every permission is used, and got %v", got)
	}
	got := layout.CheckUnused(good, []layout.Package{program, {Path: "internal/area"}})
	if diff := cmp.Diff([]string{"the table lets internal/area import internal/leaf, which it does not"}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestCheckFanOut(t *testing.T) {
	t.Parallel()
	packages := []layout.Package{
		{Path: "at the limit", Imports: []string{"a", "b", "ground"}},
		{Path: "over", Imports: []string{"a", "b", "c"}},
		{Path: "exempt", Imports: []string{"a", "b", "c", "d"}},
	}
	got := layout.CheckFanOut(packages, []string{"ground"}, []string{"exempt"}, 2)
	if diff := cmp.Diff([]string{"over imports 3 packages, more than 2"}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestCheckDocs(t *testing.T) {
	t.Parallel()
	got := layout.CheckDocs([]layout.Package{{Path: "told", HasDoc: true}, {Path: "silent"}})
	if diff := cmp.Diff([]string{"silent has no package doc"}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestCheckLengths(t *testing.T) {
	t.Parallel()
	got := layout.CheckLengths([]layout.Package{{
		Path:  "p",
		Files: []layout.File{{Name: "at_the_limit.go", Lines: 10}, {Name: "over.go", Lines: 11}},
	}}, 10)
	if diff := cmp.Diff([]string{"p/over.go has 11 lines, more than 10"}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestCheckLinked(t *testing.T) {
	t.Parallel()
	linked := []string{"fmt", "example.org/driver", "example.org/driver/v5/conn", "example.org/drivers"}
	got := layout.CheckLinked("cmd/x", linked, []string{"example.org/driver"})
	want := []string{"cmd/x links example.org/driver", "cmd/x links example.org/driver/v5/conn"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
