package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// commandsOf gives every command of writ that does something, as it is written
// after the program's name.
func commandsOf(t *testing.T, path string) (all []string) {
	t.Helper()
	if path == "help" {
		return []string{path}
	}
	help := runShell(t, t.TempDir(), "writ "+path+" --help\n")
	_, list, found := strings.Cut(help, "Available Commands:\n")
	if !found {
		return []string{path}
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		all = append(all, commandsOf(t, strings.TrimSpace(path+" "+strings.Fields(line)[0]))...)
	}
	return all
}

// TestEveryCommandIsTried checks that a script runs every command, and every command
// that prints something also with --json.
func TestEveryCommandIsTried(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	var scripts strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts.Write(text)
	}
	tries := func(words string) bool {
		return regexp.MustCompile(`(?m)^(exec|exits 0) writ ` + words).MatchString(scripts.String())
	}
	commands := commandsOf(t, "")
	if len(commands) < 20 {
		t.Errorf("only %d commands were found: %q", len(commands), commands)
	}
	for _, command := range commands {
		if !tries(regexp.QuoteMeta(command) + `\b`) {
			t.Errorf("no script runs writ %s and has it succeed", command)
		}
		printsScript := strings.HasPrefix(command, "completion ")
		if printsScript || command == "help" || command == "run" || command == "hook" {
			continue // run prints nothing itself, and hook always JSON
		}
		if !tries(regexp.QuoteMeta(command) + `\b.*--json\b`) {
			t.Errorf("no script runs writ %s --json", command)
		}
	}
}
