package layout_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	newTable  = regexp.MustCompile(`CREATE TABLE (?:IF NOT EXISTS )?([a-z_]+)`)
	tableRows = regexp.MustCompile(`(?:INSERT INTO ([a-z_]+)\b|"([a-z_]+)")`)
)

// TestEveryTableHasOneOwner: one package writes the rows of a table, so that grepping its name finds the code.
func TestEveryTableHasOneOwner(t *testing.T) {
	t.Parallel()
	owners := map[string]map[string]bool{} // package by table
	eachFile(t, "internal/database/migrations", ".sql", func(_, text string) {
		for _, m := range newTable.FindAllStringSubmatch(text, -1) {
			owners[m[1]] = map[string]bool{}
		}
	})
	if len(owners) < 50 {
		t.Fatalf("%d tables: the migrations are not where they were", len(owners))
	}
	loose := map[string]map[string]bool{} // where a name stands alone in quotes, as bulk inserts have it
	eachFile(t, "internal", ".go", func(path, text string) {
		folder := filepath.Dir(path)
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(folder, "internal/test") {
			return
		}
		for _, m := range tableRows.FindAllStringSubmatch(text, -1) {
			if owner := owners[m[1]]; owner != nil {
				owner[folder] = true
			}
			if owners[m[2]] != nil && (folder == "internal/telemetry" || folder == "internal/wordindex") {
				loose[m[2]] = map[string]bool{folder: true}
			}
		}
	})
	for _, table := range slices.Sorted(maps.Keys(owners)) {
		if len(owners[table]) == 0 {
			owners[table] = loose[table]
		}
		if len(owners[table]) != 1 {
			t.Errorf("%s is written by %v, want one package", table, slices.Sorted(maps.Keys(owners[table])))
		}
	}
}

func eachFile(t *testing.T, folder, suffix string, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, suffix) {
			return err
		}
		text, err := os.ReadFile(path)
		do(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
