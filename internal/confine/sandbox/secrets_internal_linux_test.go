package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// byWalking is what secretsOf says, found with the standard library.
func byWalking(t *testing.T, dir string) (secrets []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&0o004 != 0 {
			return err
		}
		secrets = append(secrets, path)
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

func TestSecretsOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	modes := []os.FileMode{0o644, 0o600, 0o640, 0o004, 0o755, 0o711}
	for i := range 400 { // more names than one read of a directory returns
		path := filepath.Join(dir, fmt.Sprintf("a-rather-long-name-so-that-a-buffer-fills-%d-of-a-directory", i))
		mode := modes[i%len(modes)]
		if i%5 == 0 {
			if err := os.MkdirAll(filepath.Join(path, "inner"), 0o755); err != nil {
				t.Fatal(err)
			}
			mode |= 0o700
			path = filepath.Join(path, "inner", "file")
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 {
			if err := os.Symlink(path, path+"-link"); err != nil {
				t.Fatal(err)
			}
		}
		if i%10 == 0 {
			if err := os.Chmod(filepath.Dir(path), modes[i%len(modes)]|0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{dir, "/etc"} {
		got, want := secretsOf(dir), byWalking(t, dir)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("secrets of %s (-by walking +found):\n%s", dir, diff)
		}
		if len(want) == 0 && dir != "/etc" {
			t.Error("the test makes no secret")
		}
	}
}

func TestADirectoryThatCannotBeLookedAtIsHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := secretsOf(file); !slices.Equal(got, []string{file}) {
		t.Errorf("secrets of what is no directory: %v, want itself", got)
	}
}
