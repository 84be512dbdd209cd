package cli_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const readmePage = "../../README.md"

// TestReadme runs the quickstart, line by line, against a server that was just
// started for the first time, and compares what each line prints with its comment.
func TestReadme(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	url := serveFirstTime(t, folder)
	var commands string
	for _, b := range readBlocks(t, readmePage) {
		switch file, isFile := strings.CutPrefix(b.kind, "yaml "); {
		case isFile:
			compareExample(t, folder, file, b.text)
		case b.kind == "sh":
			commands += b.text
		}
	}
	lines := strings.Split(strings.TrimSpace(commands), "\n")
	if len(lines) != 10 {
		t.Errorf("the quickstart has %d lines, want 10", len(lines))
	}
	id := ""
	for _, line := range lines {
		command, comment, _ := strings.Cut(line, "#")
		if !strings.HasPrefix(command, "writ ") || strings.ContainsAny(command, "|$`;&<>") {
			t.Errorf("%q is more than a command of writ", command)
		}
		command = strings.NewReplacer("http://localhost:8080", url, " ID ", " "+id+" ").Replace(command)
		printed := runReadmeLine(t, folder, url, command)
		if found := regexp.MustCompile(`(?m)^approval +(\S+)$`).FindStringSubmatch(printed); found != nil {
			id = found[1]
		}
		want, _, _ := strings.Cut(strings.TrimSpace(comment), ":")
		switch {
		case strings.HasPrefix(command, "writ check "):
			if !strings.HasPrefix(printed, "verdict    "+want+"\n") {
				t.Errorf("%s prints\n%s\nwant the verdict %s", line, printed, want)
			}
		case strings.HasPrefix(command, "writ audit "):
			if !strings.HasPrefix(printed, want+"\n") || want != "verified" {
				t.Errorf("%s prints\n%s\nwant %s", line, printed, want)
			}
		}
	}
}

// runReadmeLine runs a command, which may fail only where it asks for a decision.
func runReadmeLine(t *testing.T, folder, url, command string) string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-eu")
	shell.Dir = folder
	shell.Stdin = strings.NewReader(atHome + "export WRIT_URL=" + url + "\n" + command + "\n")
	printed, err := shell.Output()
	if err != nil && !strings.HasPrefix(command, "writ check ") {
		t.Fatalf("%s: %v\n%s", command, err, printed)
	}
	return string(printed)
}

// compareExample checks that the page shows a file as it is, and copies it.
func compareExample(t *testing.T, folder, file, shown string) {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil || string(text) != shown {
		t.Errorf("%s is not as the page shows it: %v", file, err)
	}
	if err := os.MkdirAll(folder+"/examples", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder+"/"+file, []byte(shown), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReadmeLinks checks that the pages which the README names exist, and that it
// names them all.
func TestReadmeLinks(t *testing.T) {
	t.Parallel()
	text := readAll(t, readmePage)
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat("../../" + link[1]); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	if !strings.Contains(text, "(docs/README.md)") {
		t.Error("the README does not lead to the map of pages")
	}
	if n := strings.Count(text, "\n"); n >= 120 {
		t.Errorf("the README has %d lines, want fewer than 120", n)
	}
}
