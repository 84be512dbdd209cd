package checks

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
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
// and JSON but those with tests.
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

// isPolicy reports whether a file may be a policy.
func isPolicy(path string, named bool) (bool, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
		tests, err := hasTests(path, named)
		return err == nil && !tests, err
	}
	return false, nil
}

var testsMember = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^["']?tests["']? *:`) })

// hasTests reports whether a file has tests. One that was named always has.
func hasTests(path string, named bool) (bool, error) {
	if named {
		return true, nil
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		file, err := os.Open(path)
		if err != nil {
			return false, err
		}
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, maxTestFile))
		return testsMember().Match(text), err
	case ".json":
		return strings.HasSuffix(strings.ToLower(path), ".test.json"), nil
	}
	return false, nil
}
