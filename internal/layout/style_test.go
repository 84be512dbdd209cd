package layout_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/layout"
)

func TestCheckStyleOfLines(t *testing.T) {
	t.Parallel()
	names := func(n int) string { return strings.TrimSuffix(strings.Repeat("someName, ", n), ", ") }
	long := strings.Repeat("x", 130)
	for _, c := range []struct {
		name, line string
		want       bool // whether it is a problem
	}{
		{"at the limit", "// " + strings.Repeat("x ", 58) + "x", false},
		{"a comment over it", "// " + strings.Repeat("x ", 59) + "x", true},
		{"a tab is four columns", "var _ = []int{\n\t\t\t\t\t\t\t" + strings.Repeat("1, ", 31) + "}", true},
		{"a character is one column", "// " + strings.Repeat("é ", 58) + "é", false},
		{"a list of names", "func f() { f(" + names(12) + ") }", true},
		{"a long literal", `var _ = "` + long + `"`, false},
		{"a literal of half a line", `func f() { f("` + long[:60] + `", ` + names(9) + ") }", false},
		{"short literals", "var _ = []string{" + strings.Repeat(`"one", `, 20) + "}", true},
		{"a struct tag", "type t struct{ field string `json:\"" + long[:50] + "\" doc:\"" + long[:40] + "\"` }", false},
		{"within a raw string", "var _ = `\n" + strings.Repeat("x ", 70) + "\n`", false},
		{"an address in a comment", "// see https://example.org/" + long + " for more", false},
	} {
		got := layout.CheckStyle([]layout.Source{{"p/f.go", "package p\n\n" + c.line + "\n"}})
		if c.want != (len(got) == 1) {
			t.Errorf("%s: %q", c.name, got)
		}
		if c.want && !strings.Contains(got[0], "columns, more than 120") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestCheckStyleOfLiterals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, literal string
		want          []string
	}{
		{"four fields", "t{A: 1, B: 2, C: 3, D: 4}", nil},
		{"five fields", "t{A: 1, B: 2, C: 3, D: 4, E: 5}", []string{
			"p/f.go:3: a struct literal has 5 fields on a line, more than 4",
		}},
		{"five fields within another literal", "[]t{\n\t{A: 1, B: 2, C: 3, D: 4, E: 5},\n}", []string{
			"p/f.go:4: a struct literal has 5 fields on a line, more than 4",
		}},
		{"five fields on two lines", "t{\n\tA: 1, B: 2, C: 3,\n\tD: 4, E: 5,\n}", nil},
		{"a map", "map[k]int{A: 1, B: 2, C: 3, D: 4, E: 5}", nil},
		{"an array by index", "[...]int{A: 1, B: 2, C: 3, D: 4, E: 5}", nil},
		{"a list", "[]int{1, 2, 3, 4, 5}", nil},
	} {
		got := layout.CheckStyle([]layout.Source{{"p/f.go", "package p\n\nvar _ = " + c.literal + "\n"}})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestCheckStyleOfABrokenFile(t *testing.T) {
	t.Parallel()
	if got := layout.CheckStyle([]layout.Source{{"p/f.go", "package"}}); len(got) != 1 {
		t.Errorf("got %q, want one problem", got)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	folder := writeModule(t, module+"-- testdata/x.go --\nno Go\n-- .hidden/x.go --\nno Go\n-- notes.txt --\nhello\n")
	sources, err := layout.Sources(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
	}
	want := "cmd/x/main.go internal/a/a.go internal/a/a_plan9.go internal/a/a_test.go internal/b/b.go" +
		" internal/bb/bb.go internal/c/c.go nested/nested.go root_test.go"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("sources %s, want %s", got, want)
	}
	if _, err := layout.Sources(folder + "/missing"); err == nil {
		t.Error("a folder that is not there is read")
	}
}
