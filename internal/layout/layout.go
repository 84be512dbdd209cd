// Package layout checks the shape of Writ's own source tree.
//
// A Table lists our packages from the top of the tree to the ground and says
// which packages each of them may import. Every import points down: a row may
// name only rows below it, so a table without problems has no cycle. What the
// table does not allow is refused, and so is a package it does not know and a
// row that no package stands for.
//
// The checks are pure functions over a small model of the packages, which Load
// reads from disk. Each returns the problems it found as sentences, none when
// all is well. Test files may import what they like and are no part of the model.
//
// The table itself is in layout_test.go at the root of the module.
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
	Name  string
	Lines int
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
	place := map[string]int{}
	var problems []string
	for i, row := range table {
		if _, twice := place[row.Package]; twice {
			problems = append(problems, fmt.Sprintf("the table has two rows for %s", row.Package))
		}
		place[row.Package] = i
	}
	for i, row := range table {
		for _, imported := range row.MayImport {
			below, known := place[imported]
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

// CheckDocs finds packages that do not tell what they are.
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
