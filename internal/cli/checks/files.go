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

// TestFiles lists the files that the arguments name, and those with tests in folders that they name.
func TestFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		found := 0
		err := filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path != arg && strings.HasPrefix(entry.Name(), "."):
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			case entry.IsDir():
				return nil
			}
			tests, err := hasTests(path, path == arg)
			if tests {
				files, found = append(files, path), found+1
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for tests: %w", err)
		}
		if found == 0 {
			return nil, fmt.Errorf("there are no tests in %s", arg)
		}
	}
	return files, nil
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
