package install_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"writ/internal/hook/guardfile"
	"writ/internal/hook/install"
)

// TestFailureChangesNothing: where one of the last steps fails, everything is as it was: no hooks of an extension
// whose key is revoked, and a record that names the key that is in the guard file.
func TestFailureChangesNothing(t *testing.T) {
	t.Parallel()
	for name, guarded := range map[string]bool{"before the first time": false, "with another key": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := machine(t, `{"theme":"dark"}`)
			writ := guard(t, p, nil).Writ
			if guarded {
				mustInstall(t, p, guard(t, p, func(f *guardfile.File) { f.Writ = writ }))
			}
			// Nothing can be put into a folder that is a file.
			if err := errors.Join(os.RemoveAll(p.Shell()), os.MkdirAll(p.Writ, 0o700),
				os.WriteFile(p.Shell(), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			before := tree(t, filepath.Dir(p.Gemini))
			changes, err := install.Install(p, guard(t, p, func(f *guardfile.File) { f.Key = "ak_test_y" }), "other")
			if err == nil {
				t.Fatalf("it is installed: %v", changes)
			}
			if after := tree(t, filepath.Dir(p.Gemini)); !maps.Equal(before, after) {
				t.Errorf("the machine has\n%v\nafter %v, and had\n%v", after, err, before)
			}
		})
	}
}

// tree is what is below a folder: modes and contents by the path.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || entry.IsDir() {
			found[path] = "a folder"
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = fmt.Sprintf("%v %v %s", info.Mode(), info.ModTime(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestCheck: what would keep Install from its work is said before it begins, and nothing is written.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, text := range settings {
		p := machine(t, text)
		if err := install.Check(p, program(t, "writ")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantGone(t, p)
	}
	for name, text := range map[string]string{
		"a trailing comma":             `{"ui": {"theme": "Dracula"},}`,
		"a list":                       "[]",
		"hooks of two kinds":           `{"hooks":{},"hooks":{}}`,
		"ours beside another":          mixed,
		"a list of hooks that is none": `{"hooks":{"BeforeTool":{}}}`,
	} {
		p := machine(t, text)
		err := install.Check(p, program(t, "writ"))
		_, want := install.Install(p, guard(t, p, nil), "")
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: Check says %v, and Install %v", name, err, want)
		}
	}
}
