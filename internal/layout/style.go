package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// What a line may hold. A tab is as wide as four spaces.
const (
	maxColumns = 120
	maxFields  = 4 // of a struct literal
	tabWidth   = 4
)

// Source is the text of a Go file.
type Source struct {
	Name string // below the directory it was read from
	Text string
}

// Sources reads the Go files below a directory, tests and other modules included.
func Sources(directory string) ([]Source, error) {
	var sources []Source
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir() && path != directory &&
			(name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(directory, path)
		sources = append(sources, Source{filepath.ToSlash(below), string(text)})
		return err
	})
	return sources, err
}

// CheckStyle finds lines over 120 columns that could be broken, and struct literals
// with more than four fields on a line.
func CheckStyle(sources []Source) []string {
	var problems []string
	for _, s := range sources {
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, s.Name, s.Text, parser.ParseComments)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		f := &styled{name: s.Name, files: files, tree: tree, lines: strings.Split(s.Text, "\n")}
		problems = append(problems, f.longLines()...)
		problems = append(problems, f.crowdedLiterals()...)
	}
	return problems
}

// styled is a file whose style is checked.
type styled struct {
	name  string
	files *token.FileSet
	tree  *ast.File
	lines []string
}

func (f *styled) longLines() (problems []string) {
	var excused map[int]bool
	for i, line := range f.lines {
		if width(line) <= maxColumns {
			continue
		}
		if excused == nil {
			excused = f.unbreakable()
		}
		if !excused[i+1] {
			problems = append(problems, fmt.Sprintf("%s:%d: has %d columns, more than %d", f.name, i+1, width(line),
				maxColumns))
		}
	}
	return problems
}

// unbreakable are the lines that are long because of a part that cannot be broken: a
// struct tag, a raw string of several lines, or a literal or a word of a comment
// (an address, say) that fills half a line.
func (f *styled) unbreakable() map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				lines[f.line(n.Tag.Pos())] = true
			}
		case *ast.BasicLit:
			first, last := f.line(n.Pos()), f.line(n.End())
			for line := first; line <= last && (first < last || width(n.Value) >= maxColumns/2); line++ {
				lines[line] = true
			}
		}
		return true
	})
	for _, group := range f.tree.Comments {
		for _, comment := range group.List {
			for _, word := range strings.Fields(comment.Text) {
				if width(word) >= maxColumns/2 {
					lines[f.line(comment.Pos())] = true
				}
			}
		}
	}
	return lines
}

func (f *styled) crowdedLiterals() (problems []string) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		fields := map[int]int{} // by line
		for _, element := range literal.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if _, ok := pair.Key.(*ast.Ident); ok {
				fields[f.line(pair.Pos())]++
			}
		}
		switch literal.Type.(type) {
		case *ast.MapType, *ast.ArrayType: // whose keys may be constants
			return true
		}
		for line, n := range fields {
			if n > maxFields {
				problems = append(problems, fmt.Sprintf("%s:%d: a struct literal has %d fields on a line, more than %d",
					f.name, line, n, maxFields))
			}
		}
		return true
	})
	return problems
}

func (f *styled) line(at token.Pos) int { return f.files.Position(at).Line }

func width(text string) int {
	return utf8.RuneCountInString(text) + (tabWidth-1)*strings.Count(text, "\t")
}
