package writ

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/cli"
)

// program makes an executable file.
func program(t *testing.T, path, script string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServerIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self := program(t, filepath.Join(dir, "both", "writ"), "")
	beside := program(t, filepath.Join(dir, "both", "writd"), "")
	alone := program(t, filepath.Join(dir, "alone", "writ"), "")
	link := filepath.Join(dir, "linked", "writ")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "folder", "writd"), 0o755); err != nil {
		t.Fatal(err)
	}
	onPath := func(string) (string, error) { return "/on/path/writd", nil }
	for _, c := range []struct{ name, self, want string }{
		{"beside", self, beside},
		{"beside what a link names", link, beside},
		{"on the path", alone, "/on/path/writd"},
		{"a folder is no program", filepath.Join(dir, "folder", "writ"), "/on/path/writd"},
		{"nothing known of ourselves", "", "/on/path/writd"},
	} {
		if got, err := findServer(c.self, onPath); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	_, err := findServer(alone, func(string) (string, error) { return "", exec.ErrNotFound })
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "neither beside writ nor on the PATH") {
		t.Errorf("err = %v", err)
	}
}

// Arguments, streams and exit code are those of the program.
func TestProgramRunsInOurPlace(t *testing.T) {
	t.Parallel()
	path := program(t, filepath.Join(t.TempDir(), "writd"), `printf '%s|' "$@"; cat; echo err >&2; exit 7`)
	var stdout, stderr bytes.Buffer
	err := runProgram(t.Context(), path, []string{"policy", "--json", "a b"}, cli.Streams{
		In: strings.NewReader("in"), Out: &stdout, Err: &stderr,
	})
	if ended, ok := errors.AsType[cli.Ended](err); !ok || ended != 7 {
		t.Errorf("err = %v, want exit code 7", err)
	}
	if stdout.String() != "policy|--json|a b|in" || stderr.String() != "err\n" {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
	path = program(t, filepath.Join(t.TempDir(), "writd"), "kill -9 $$")
	err = runProgram(t.Context(), path, nil, cli.Streams{})
	if _, ended := errors.AsType[cli.Ended](err); ended || err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("err = %v, want that it was killed", err)
	}
}
