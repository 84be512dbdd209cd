package layout_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"writ/internal/layout"
)

const module = `
-- go.mod --
module example
go 1.26
-- root_test.go --
package example_test
-- cmd/x/main.go --
// X is a program.
package main

import (
	"fmt"

	"example/internal/a"
	"example/internal/b"
	_ "example/internal/bb"
)

func main() { fmt.Println(a.A, b.B) }
-- internal/a/a.go --
package a

import "example/internal/b"

const A = b.B
-- internal/a/a_plan9.go --
// Package a tells its story in a file that is not built here.
package a

import _ "example/internal/bb"
-- internal/a/a_test.go --
package a

import _ "example/internal/c"
-- internal/b/b.go --
//go:build !never

package b

const B = 1
-- internal/bb/bb.go --
// Package bb is documented.
package bb
-- internal/c/c.go --
// Package c is documented.
package c
-- nested/go.mod --
module nested
-- nested/nested.go --
package nested
`

func TestLoad(t *testing.T) {
	t.Parallel()
	got, err := layout.Load(t.Context(), writeModule(t, module))
	if err != nil {
		t.Fatal(err)
	}
	want := []layout.Package{
		{
			Path:    "cmd/x",
			HasDoc:  true,
			Imports: []string{"internal/a", "internal/b", "internal/bb"},
			Files:   []layout.File{{Name: "main.go", Lines: 12, Functions: []int{1}}},
		},
		{
			Path:    "internal/a",
			HasDoc:  true,
			Imports: []string{"internal/b", "internal/bb"},
			Files:   []layout.File{{Name: "a.go", Lines: 5}, {Name: "a_plan9.go", Lines: 4}},
		},
		{Path: "internal/b", Files: []layout.File{{Name: "b.go", Lines: 5}}},
		{Path: "internal/bb", HasDoc: true, Files: []layout.File{{Name: "bb.go", Lines: 2}}},
		{Path: "internal/c", HasDoc: true, Files: []layout.File{{Name: "c.go", Lines: 2}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func TestLinked(t *testing.T) {
	t.Parallel()
	linked, err := layout.Linked(t.Context(), writeModule(t, module), "./cmd/x")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"fmt": true, "example/internal/b": true, "example/internal/c": false} {
		if got := slices.Contains(linked, path); got != want {
			t.Errorf("cmd/x links %s: got %t, want %t", path, got, want)
		}
	}
}

func TestLoadRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ module, want string }{
		"no module":       {"-- a.go --\npackage a\n", "go list"},
		"a broken import": {"-- go.mod --\nmodule example\n-- a.go --\npackage a\nimport \n", "a.go"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packages, err := layout.Load(t.Context(), writeModule(t, c.module))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v and error %v, want an error with %q", packages, err, c.want)
			}
		})
	}
}

func TestLinkedRefusesAProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	if linked, err := layout.Linked(t.Context(), writeModule(t, module), "./cmd/none"); err == nil {
		t.Errorf("got %v, want an error", linked)
	}
}

func writeModule(t *testing.T, archive string) string {
	t.Helper()
	directory := t.TempDir()
	if err := txtar.Write(txtar.Parse([]byte(archive)), directory); err != nil {
		t.Fatalf("write the module: %v", err)
	}
	return directory
}
