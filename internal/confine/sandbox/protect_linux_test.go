//go:build amd64 || arm64

package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"writ/internal/confine/sandbox"
)

// setAside checks that what appeared is where the report says, and nowhere else, and returns the changes without that.
func setAside(t *testing.T, report sandbox.Report) []sandbox.Change {
	t.Helper()
	changes := slices.Clone(report.Protected)
	for i, change := range changes {
		if change.Change != "appeared" || change.Expected {
			continue
		}
		if _, err := os.Lstat(change.Path); err == nil {
			t.Errorf("%s is still there", change.Path)
		}
		if _, err := os.Lstat(change.SetAside); err != nil ||
			!strings.HasPrefix(change.SetAside, change.Path+".refused-") {
			t.Errorf("%s is not set aside as %q: %v", change.Path, change.SetAside, err)
		}
		changes[i].SetAside = ""
	}
	return changes
}

// TestWhatSteersGitDoesNotAppear: in a repository that was there, and in one that a command makes.
func TestWhatSteersGitDoesNotAppear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, script string
		exit                 int
		appeared             []string // set aside
		expected             []string // left, and told
	}{
		{
			"repository", "git init -q .", "git add . && echo ../elsewhere > .git/commondir; mkdir .husky",
			sandbox.ExitProtected, []string{".git/commondir", ".husky"}, nil,
		},
		{"new repository", "true", "git init -q . && git add .", 0, nil, []string{".git/config", ".git/hooks"}},
		{
			"new repository elsewhere", "true", "git init -q . && echo ../elsewhere > .git/commondir",
			sandbox.ExitProtected, []string{".git/commondir"}, []string{".git/config", ".git/hooks"},
		},
		{"file that leads git", "true", "echo gitdir: elsewhere > .git", sandbox.ExitProtected, []string{".git"}, nil},
		{"link that leads git", "true", "ln -s elsewhere .git", sandbox.ExitProtected, []string{".git"}, nil},
		{"command that fails", "true", "touch .envrc; exit 3", 3, []string{".envrc"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			forEach(t, func(t *testing.T, w *world, flat []string) {
				w.run(t, append(slices.Clone(flat), "--write", w.workspace), c.before)
				r, report := w.reported(t, append(slices.Clone(flat), "--write", w.workspace), c.script)
				var want []sandbox.Change
				for _, name := range c.appeared {
					want = append(want, sandbox.Change{Path: filepath.Join(w.workspace, name), Change: "appeared"})
				}
				for _, name := range c.expected {
					want = append(want, sandbox.Change{
						Path: filepath.Join(w.workspace, name), Change: "appeared", Expected: true,
					})
				}
				if got := setAside(t, report); !slices.Equal(got, want) || r.exit != c.exit {
					t.Errorf("exit %d, want %d; told of %v, want %v\n%s", r.exit, c.exit, got, want, r.errors)
				}
			})
		})
	}
}

// TestSettingAsideStaysInside: a link that a command made leads nothing of ours outside.
func TestSettingAsideStaysInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, user{"caller", -1})
	must(t, os.Mkdir(w.workspace+"/.git", 0o755))
	must(t, os.WriteFile(w.outside+"/commondir", []byte("theirs"), 0o644))
	r, report := w.reported(t, append(flatFlags(w.user), "--write", w.workspace),
		"rmdir .git; ln -s "+w.outside+" .git")
	if text, err := os.ReadFile(w.outside + "/commondir"); err != nil || string(text) != "theirs" {
		t.Errorf("outside: %q, %v", text, err)
	}
	if r.exit != sandbox.ExitProtected || !slices.Contains(report.Protected, sandbox.Change{
		Path: w.workspace + "/.git/commondir", Change: "appeared",
	}) {
		t.Errorf("exit %d, told of %v", r.exit, report.Protected)
	}
}
