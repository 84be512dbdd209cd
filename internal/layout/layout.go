// Package layout checks the shape of Writ's own source tree.
//
// A Table lists our packages from the top of the tree to the ground and says
// which packages each of them may import. Every import points down: a row may
// name only rows below it, so a table without problems has no cycle. The checks
// refuse imports that the table does not allow, packages without a row, and rows
// without a package.
//
// The checks are pure functions over a small model of the packages, which Load
// reads from disk. Each returns the problems it found as sentences, none when
// all is well. Test files may import what they like and are no part of the model;
// only CheckStyle reads them.
//
// The table itself is in layout_test.go at the root of the module. Measure counts
// what the checks bound; make measure prints it.
package layout

import (
	"fmt"
	"slices"
	"strings"
)

// Package is what the checks know of one of our packages.
type Package struct {
	Path    string   // within the module: "internal/auth"
	HasDoc  bool     // some file has a comment before its package clause
	Imports []string // our own packages only, by Path, sorted, each once
	Files   []File
}

// File is one file of a package that is no test.
type File struct {
	Name      string
	Lines     int
	Functions []int // how many lines each has
}

// Row says what one package may import of our own packages.
type Row struct {
	Package   string
	MayImport []string
}

// Table is the rows from top to bottom.
type Table []Row

// CheckTable finds rows that are there twice and permissions that do not point
// to a row further down.
func CheckTable(table Table) []string {
	position := map[string]int{}
	var problems []string
	for i, row := range table {
		if _, twice := position[row.Package]; twice {
			problems = append(problems, fmt.Sprintf("the table has two rows for %s", row.Package))
		}
		position[row.Package] = i
	}
	for i, row := range table {
		for _, imported := range row.MayImport {
			below, known := position[imported]
			switch {
			case !known:
				problems = append(problems, fmt.Sprintf("the table lets %s import %s, which has no row", row.Package,
					imported))
			case below <= i:
				problems = append(problems, fmt.Sprintf("the table lets %s import %s, which is not below it",
					row.Package, imported))
			}
		}
	}
	return problems
}

// CheckImports finds imports the table does not allow, packages it does not
// know, and rows without a package.
func CheckImports(table Table, packages []Package) []string {
	rows := map[string]Row{}
	for _, row := range table {
		rows[row.Package] = row
	}
	var problems []string
	for _, p := range packages {
		row, known := rows[p.Path]
		if !known {
			problems = append(problems, fmt.Sprintf("%s has no row in the table", p.Path))
			continue
		}
		delete(rows, p.Path)
		for _, imported := range p.Imports {
			if !slices.Contains(row.MayImport, imported) {
				problems = append(problems, fmt.Sprintf("%s imports %s, which the table does not allow", p.Path,
					imported))
			}
		}
	}
	for _, row := range table {
		if _, unused := rows[row.Package]; unused {
			problems = append(problems, fmt.Sprintf("the table has a row for %s, which does not exist", row.Package))
		}
	}
	return problems
}

// CheckUnused finds permissions of the table that no package uses.
func CheckUnused(table Table, packages []Package) []string {
	used := map[string][]string{}
	for _, p := range packages {
		used[p.Path] = p.Imports
	}
	var problems []string
	for _, row := range table {
		for _, imported := range row.MayImport {
			if !slices.Contains(used[row.Package], imported) {
				problems = append(problems, fmt.Sprintf("the table lets %s import %s, which it does not", row.Package,
					imported))
			}
		}
	}
	return problems
}

// CheckFanOut finds packages, other than those exempt, that import more than limit
// of ours, floors not counted.
func CheckFanOut(packages []Package, floors, exempt []string, limit int) []string {
	var problems []string
	for _, p := range packages {
		if n := fanOut(p, floors); n > limit && !slices.Contains(exempt, p.Path) {
			problems = append(problems, fmt.Sprintf("%s imports %d packages, more than %d", p.Path, n, limit))
		}
	}
	return problems
}

func fanOut(p Package, floors []string) (n int) {
	for _, imported := range p.Imports {
		if !slices.Contains(floors, imported) {
			n++
		}
	}
	return n
}

// CheckDocs finds packages without a package doc.
func CheckDocs(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		if !p.HasDoc {
			problems = append(problems, fmt.Sprintf("%s has no package doc", p.Path))
		}
	}
	return problems
}

// CheckLengths finds files of more than limit lines.
func CheckLengths(packages []Package, limit int) []string {
	var problems []string
	for _, p := range packages {
		for _, f := range p.Files {
			if f.Lines > limit {
				problems = append(problems, fmt.Sprintf("%s/%s has %d lines, more than %d", p.Path, f.Name, f.Lines,
					limit))
			}
		}
	}
	return problems
}

// CheckLinked finds, among the import paths a program is linked from, those
// that are one of the unwanted paths or below it.
func CheckLinked(program string, linked, unwanted []string) []string {
	var problems []string
	for _, path := range linked {
		for _, prefix := range unwanted {
			if path == prefix || strings.HasPrefix(path, prefix+"/") {
				problems = append(problems, fmt.Sprintf("%s links %s", program, path))
			}
		}
	}
	return problems
}
