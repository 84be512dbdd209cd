package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const conceptsPage = "../../docs/concepts.md"

// TestConceptsPage checks the glossary: every row is complete, and the packages,
// routes and tables that it names exist.
func TestConceptsPage(t *testing.T) {
	t.Parallel()
	rows := tableRows(t, conceptsPage, "word", "what it is", "on the wire", "in the code")
	if len(rows) < 35 {
		t.Fatalf("%d words, want at least 35", len(rows))
	}
	routes, tables := readAll(t, "../api/testdata/routes.golden"), readAll(t, "../database/migrations/*/*.sql")
	seen := map[string]bool{}
	for _, row := range rows {
		if len(row) != 4 || row[0] == "" || row[1] == "" || row[2] == "" || row[3] == "" {
			t.Errorf("%q: a row has a word, a sentence, the wire and the code", row)
			continue
		}
		word := row[0]
		if seen[word] {
			t.Errorf("%s is explained twice", word)
		}
		seen[word] = true
		if strings.Count(row[1], ". ") > 0 || !strings.HasSuffix(row[1], ".") {
			t.Errorf("%s: %q is not one sentence", word, row[1])
		}
		for _, folder := range quoted(row[3]) {
			if sources, err := filepath.Glob("../../" + folder + "/*.go"); err != nil || len(sources) == 0 {
				t.Errorf("%s: there is no package %s", word, folder)
			}
		}
		for _, name := range quoted(row[2]) {
			if strings.HasPrefix(name, "/") && !strings.Contains(routes, " "+name+" ") {
				t.Errorf("%s: %s is no route", word, name)
			}
		}
		for _, list := range regexp.MustCompile("tables? (`[a-z_]+`(, )?)+").FindAllString(row[2], -1) {
			for _, table := range quoted(list) {
				if !strings.Contains(tables, "CREATE TABLE "+table+" (") {
					t.Errorf("%s: there is no table %s", word, table)
				}
			}
		}
	}
}

// quoted is the words between backticks.
func quoted(text string) (words []string) {
	for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		words = append(words, match[1])
	}
	return words
}

// readAll is the text of the files that fit a pattern; there must be one.
func readAll(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file fits %s: %v", pattern, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
