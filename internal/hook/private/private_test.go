package private_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"writ/internal/hook/private"
)

func TestSeals(t *testing.T) {
	t.Parallel()
	one, other := private.NewSealer("a"), private.NewSealer("b")
	seal := one.Seal([]byte("text"), "x", "y")
	if !one.Holds(seal, []byte("text"), "x", "y") {
		t.Error("a seal does not hold its own text")
	}
	for name, holds := range map[string]bool{
		"another text":   one.Holds(seal, []byte("texts"), "x", "y"),
		"another secret": other.Holds(seal, []byte("text"), "x", "y"),
		"other names":    one.Holds(seal, []byte("text"), "xy"),
		"names as text":  one.Holds(seal, []byte("y\x00text"), "x"),
		"no seal":        one.Holds("", []byte("text"), "x", "y"),
	} {
		if holds {
			t.Errorf("%s: the seal holds", name)
		}
	}
}

// TestOnlyFilesOfTheUser: what stands in the place of a file is not read, and reading never waits.
func TestOnlyFilesOfTheUser(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	if err := private.Replace(path("good"), []byte("text")); err != nil {
		t.Fatal(err)
	}
	if text, err := private.Read(path("good"), 4); err != nil || string(text) != "text" {
		t.Fatalf("%q, %v", text, err)
	}
	if err := os.WriteFile(path("open"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path("good"), path("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"open", "link", "pipe", "absent", "."} {
		if text, err := private.Read(path(name), 100); err == nil {
			t.Errorf("%s is read: %q", name, text)
		}
	}
	if _, err := private.Read(path("good"), 3); err == nil {
		t.Error("a file that is too long is read")
	}
	if err := private.Folder(path("link")); err == nil {
		t.Error("a link is taken for a folder")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 4 {
		t.Errorf("%d files, %v: something was left behind", len(entries), err)
	}
}

// TestReplaceLeavesTheOldFile where the new one cannot be put.
func TestReplaceLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "place", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := private.Replace(filepath.Join(folder, "place"), []byte("text")); err == nil {
		t.Error("a folder that is not empty was replaced")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v: something was left behind", len(entries), err)
	}
}
