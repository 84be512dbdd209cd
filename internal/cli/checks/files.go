package checks

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"writ/internal/misspelling"
	"writ/internal/node"
)

// maxTestFile bounds what is read of a file to see whether it has tests.
const maxTestFile = 4 << 20

// Stdin stands for the standard input where a file is named.
const Stdin = "-"

// TestFiles lists the files that the arguments name, and those with tests in folders that they name.
func TestFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		if arg == Stdin {
			files = append(files, arg)
			continue
		}
		found, err := filesIn(arg, hasTests)
		if err != nil {
			return nil, fmt.Errorf("look for tests: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("there are no tests in %s", arg)
		}
		files = append(files, found...)
	}
	return files, nil
}

// PolicyFiles lists the files that the arguments name, and the policies in folders that they name: all files in YAML
// and JSON but those that are plainly something else.
func PolicyFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		if about, err := os.Stat(arg); arg == Stdin || err != nil || !about.IsDir() {
			files = append(files, arg)
			continue
		}
		found, err := filesIn(arg, isPolicy)
		if err != nil {
			return nil, fmt.Errorf("look for policies: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("there are no policies in %s", arg)
		}
		files = append(files, found...)
	}
	return files, nil
}

// filesIn lists the file that is named, or those below a folder that are meant. What begins with a dot is left out.
func filesIn(root string, meant func(path string, named bool) (bool, error)) (files []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		is, err := meant(path, path == root)
		if is {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// document is a file in YAML or JSON.
type document struct {
	name string
	text []byte
	root *node.Node // nil: it cannot be read
}

// readDocument reads a file; nil: by its name it is neither in YAML nor in JSON.
func readDocument(path string) (*document, error) {
	d := &document{name: strings.ToLower(path)}
	read := node.ReadYAML
	switch filepath.Ext(d.name) {
	case ".yaml", ".yml":
	case ".json":
		read = node.ReadJSON
	default:
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if d.text, err = io.ReadAll(io.LimitReader(file, maxTestFile)); err != nil {
		return nil, err
	}
	d.root, _ = read(d.text)
	return d, nil
}

// isPolicy reports whether a file may be a policy.
func isPolicy(path string, _ bool) (bool, error) {
	d, err := readDocument(path)
	return err != nil || d != nil && d.mayBePolicy(), nil // one that cannot be opened is a problem of its own
}

// mayBePolicy is false of tests, and of calls, plans, manifests and other documents that have nothing which is of
// policies alone. What cannot be read, or is no map, may be a policy: its problems are reported.
func (d *document) mayBePolicy() bool {
	switch {
	case d.root == nil || d.root.Kind != node.Map:
		return !d.hasTests()
	case d.root.Has("rules"):
		return true
	case d.hasTests(), d.root.Has("identity"): // the latter is of manifests
		return false
	}
	return slices.ContainsFunc(d.root.Members, isOfPolicy)
}

// isOfPolicy reports whether a member makes a document one whose rules are missing, or misspelled. Documents of many
// other programs have a name, and a version of their own.
func isOfPolicy(m node.Member) bool {
	switch m.Key {
	case "version":
		return m.Value.Text == "v1"
	case "default":
		return true
	}
	return misspelling.Of(m.Key, []string{"rules"}) != ""
}

// hasTests reports whether a file has tests. One that was named always has.
func hasTests(path string, named bool) (bool, error) {
	if named {
		return true, nil
	}
	d, err := readDocument(path)
	return d != nil && d.hasTests(), err
}

var testsMember = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^["']?tests["']? *:`) })

// hasTests is also true of what looks like tests and cannot be read, whose problems are then reported.
func (d *document) hasTests() bool {
	switch {
	case strings.HasSuffix(d.name, ".test.json"):
		return true
	case d.root != nil:
		return d.root.Has("tests")
	}
	return filepath.Ext(d.name) != ".json" && testsMember().Match(d.text)
}
