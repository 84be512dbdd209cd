package cli_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPagesNameKeysApart: who follows two pages, one after the other, gets two keys of different names. A command that
// takes the name of a key refuses one that two keys have.
func TestPagesNameKeysApart(t *testing.T) {
	t.Parallel()
	const docs = "../../docs"
	made := regexp.MustCompile(`writ keys create --name ([a-z][a-z0-9-]*)`)
	pages := map[string]string{}
	err := fs.WalkDir(os.DirFS(docs), ".", func(page string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(page, ".md") {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(docs), page)
		for _, found := range made.FindAllStringSubmatch(string(text), -1) {
			if other, ok := pages[found[1]]; ok {
				t.Errorf("%s and %s both make a key named %s", other, page, found[1])
			}
			pages[found[1]] = page
		}
		return err
	})
	if err != nil || len(pages) < 10 {
		t.Errorf("%d keys are made, %v", len(pages), err)
	}
}
