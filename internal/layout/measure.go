package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// MaxFanOut is how many areas and joins a package may import.
const MaxFanOut = 15

// Measures are the size and shape of the code that the programs are linked from:
// tests, test support and tools are left out.
type Measures struct {
	FanOut    map[string]int // of packages with more than MaxFanOut
	Lines     int
	Files     []int // their lines, sorted
	Functions []int // their lines, sorted
	Unused    []string
}

// Measure measures packages.
func Measure(table Table, floors []string, packages []Package) Measures {
	m := Measures{FanOut: map[string]int{}, Unused: CheckUnused(table, packages)}
	for _, p := range linked(packages) {
		if n := fanOut(p, floors); n > MaxFanOut {
			m.FanOut[p.Path] = n
		}
		for _, f := range p.Files {
			m.Lines += f.Lines
			m.Files = append(m.Files, f.Lines)
			m.Functions = append(m.Functions, f.Functions...)
		}
	}
	slices.Sort(m.Files)
	slices.Sort(m.Functions)
	return m
}

// linked are the programs below cmd/, and what they import.
func linked(packages []Package) (found []Package) {
	byPath, seen := map[string]Package{}, map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		found = append(found, byPath[path])
		for _, imported := range byPath[path].Imports {
			visit(imported)
		}
	}
	for _, p := range packages {
		byPath[p.Path] = p
	}
	for _, p := range packages {
		if strings.HasPrefix(p.Path, "cmd/") {
			visit(p.Path)
		}
	}
	return found
}

// String is the measures in a few lines.
func (m Measures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "non-test lines   %d\n", m.Lines)
	fmt.Fprintf(&b, "files            %d, lines p50 %d, p90 %d, max %d\n", len(m.Files), percentile(m.Files, 50),
		percentile(m.Files, 90), percentile(m.Files, 100))
	fmt.Fprintf(&b, "functions        %d, lines p50 %d, p90 %d, p99 %d, max %d\n", len(m.Functions),
		percentile(m.Functions, 50), percentile(m.Functions, 90), percentile(m.Functions, 99),
		percentile(m.Functions, 100))
	fmt.Fprintf(&b, "fan-out over %d  %d packages\n", MaxFanOut, len(m.FanOut))
	paths := make([]string, 0, len(m.FanOut))
	for path := range m.FanOut {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		fmt.Fprintf(&b, "  %-30s %d\n", path, m.FanOut[path])
	}
	fmt.Fprintf(&b, "unused           %d permissions of the table\n", len(m.Unused))
	for _, problem := range m.Unused {
		fmt.Fprintf(&b, "  %s\n", problem)
	}
	return b.String()
}

// percentile is the value below or at which p percent of the sorted values are.
func percentile(sorted []int, p int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// ReadTable reads the table, and the floors that fan-out does not count, from the
// test that holds them: calls of row, and the variable floors.
func ReadTable(file string) (table Table, floors []string, err error) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, fmt.Errorf("parse %s: %w", file, err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			cells := texts(n.Args)
			if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "row" && len(cells) > 0 {
				table = append(table, Row{Package: cells[0], MayImport: cells[1:]})
			}
		case *ast.ValueSpec:
			if n.Names[0].Name == "floors" && len(n.Values) == 1 {
				floors = texts(n.Values[0].(*ast.CompositeLit).Elts)
			}
		}
		return true
	})
	return table, floors, nil
}

// texts are the string literals among expressions.
func texts(expressions []ast.Expr) (all []string) {
	for _, e := range expressions {
		if literal, ok := e.(*ast.BasicLit); ok {
			text, _ := strconv.Unquote(literal.Value) // the parser has read it
			all = append(all, text)
		}
	}
	return all
}
