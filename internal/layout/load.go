package layout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listed is what we read of the output of go list.
type listed struct {
	ImportPath     string
	Dir            string
	Module         struct{ Path string }
	GoFiles        []string
	IgnoredGoFiles []string // for another system, or behind a build tag
}

// Load reads the packages of the module in a directory. Packages that have only
// tests are left out.
func Load(ctx context.Context, directory string) ([]Package, error) {
	output, err := goList(ctx, directory, "-json=ImportPath,Dir,Module,GoFiles,IgnoredGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	var packages []Package
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		p, err := read(l)
		if err != nil {
			return nil, err
		}
		if len(p.Files) > 0 {
			packages = append(packages, p)
		}
	}
}

// Linked lists the import paths of everything a program is linked from.
func Linked(ctx context.Context, directory, program string) ([]string, error) {
	output, err := goList(ctx, directory, "-deps", program)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(output)), nil
}

func goList(ctx context.Context, directory string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	command.Dir = directory
	output, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(args, " "), err)
	}
	return output, nil
}

// read reads every file itself: go list knows the imports only of files for the
// present system, and the length of none.
func read(l listed) (Package, error) {
	p := Package{Path: within(l.Module.Path, l.ImportPath)}
	for _, name := range slices.Concat(l.GoFiles, l.IgnoredGoFiles) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if err := p.add(filepath.Join(l.Dir, name), l.Module.Path); err != nil {
			return Package{}, err
		}
	}
	slices.Sort(p.Imports)
	p.Imports = slices.Compact(p.Imports)
	return p, nil
}

func (p *Package) add(file, module string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	p.Files = append(p.Files, File{filepath.Base(file), lines(source), functions(files, tree)})
	p.HasDoc = p.HasDoc || strings.TrimSpace(tree.Doc.Text()) != ""
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("read an import of %s: %w", file, err)
		}
		if imported == module || strings.HasPrefix(imported, module+"/") {
			p.Imports = append(p.Imports, within(module, imported))
		}
	}
	return nil
}

// functions is how many lines each function of a file has.
func functions(files *token.FileSet, tree *ast.File) (lengths []int) {
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			lengths = append(lengths, files.Position(f.End()).Line-files.Position(f.Pos()).Line+1)
		}
	}
	return lengths
}

// within is the path of a package in its module; "." is the module's root.
func within(module, importPath string) string {
	return path.Clean("./" + strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/"))
}

func lines(source []byte) int {
	n := bytes.Count(source, []byte("\n"))
	if len(source) > 0 && !bytes.HasSuffix(source, []byte("\n")) {
		n++
	}
	return n
}
