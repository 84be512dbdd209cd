package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMeasureClient runs a program that fails unless it finds a sign-in.
func TestMeasureClient(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program := filepath.Join(folder, "writ")
	const script = "#!/bin/sh\n[ \"$*\" = 'whoami --json' ] && grep -q ak_test_ \"$XDG_CONFIG_HOME/writ/credentials.json\"\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := measureClient(t.Context(), program, folder)
	if err != nil || len(got.writ) != clientStarts || len(got.floor) != clientStarts {
		t.Fatalf("%d and %d starts, %v", len(got.writ), len(got.floor), err)
	}
	var out strings.Builder
	if err := printClient(&out, got); err != nil || !strings.Contains(out.String(), "\nwrit whoami --json ") {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	if _, err := measureClient(t.Context(), filepath.Join(folder, "none"), folder); err == nil {
		t.Error("a program that is not there was measured")
	}
}
