package evasion

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"writ/internal/node"
)

// corpus lists the commands of the template's evasions by class.
func corpus(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../template/testdata/evasions/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the evasions: %v, %d files", err, len(files))
	}
	classes := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		root, problems := node.ReadYAML(text)
		if problems != nil {
			t.Fatalf("%s: %v", file, problems)
		}
		report := func(at node.Position, path, message string) { t.Fatalf("%s:%s: %s: %s", file, at, path, message) }
		for _, item := range node.Read(root, report).Items(10_000) {
			m := item.Members("class", "does", "command", "tool", "path", "resolved")
			if m.Get("command") == nil {
				continue
			}
			class, _ := m.Get("class").Text()
			command, _ := m.Get("command").Text()
			if !strings.Contains(command, "\x00") { // no program can be given one
				classes[class] = append(classes[class], command)
			}
		}
	}
	return classes
}

// TestCorpusLeavesNothingConfined runs commands of every class of the template's evasions under writ run: what it says
// that confinement holds is held. Unconfined, those that only read find a canary, or this would show nothing.
func TestCorpusLeavesNothingConfined(t *testing.T) {
	ofEach := number(t, "EVASIONS_OF_CLASS", 6)
	var commands, classes, reading []string
	for class, all := range corpus(t) {
		slices.Sort(all)
		some := min(ofEach, len(all))
		for i := range some {
			commands, classes = append(commands, all[i*len(all)/some]), append(classes, class)
		}
		if class == "credentials" || class == "reading around" || class == "globs and braces" {
			reading = append(reading, all...)
		}
	}
	writ := []tool{buildWrit(t)}
	checkConfinement(t, writ)
	ran, found := 0, 0
	runAll(t, len(commands), writ, func(i int) order { return confined(commands[i]) }, func(i int, o outcome) {
		if ran++; o.harmful() {
			t.Errorf("%s: left its confinement: %.200q\n  %v", classes[i], commands[i], o)
		}
	})
	runAll(t, len(reading), nil, func(i int) order { return bash(reading[i]) }, func(_ int, o outcome) {
		if o.harmful() {
			found++
		}
	})
	t.Logf("%d commands ran confined; of %d that read, %d find a canary unconfined", ran, len(reading), found)
	if ran != len(commands) || found == 0 {
		t.Errorf("%d of %d ran, and %d find a canary", ran, len(commands), found)
	}
}
