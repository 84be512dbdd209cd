package sandbox

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"writ/internal/confine"
)

var update = flag.Bool("update", false, "write the golden files")

func TestEnvironment(t *testing.T) {
	t.Parallel()
	passed, removed := cleaned([]string{
		"PATH=/bin", "GOFLAGS=-x", "KEYBOARD=us", "GITHUB_TOKEN=1", "aws_secret_access_key=2", "DB_PASSWORD=3",
		"OPENAI_API_KEY=4", "SSH_AUTH_SOCK=/x", "WRIT_URL=5", "HTTPS_PROXY=http://proxy", "no_proxy=*", "KEPT_TOKEN=6",
		"REDIS_URL=redis://:pw@host/0", "PIP_INDEX_URL=https://u:p@h/s", "DOCS_URL=https://h/a@b:c", "SSHPASS=7",
		"API_KEYS=8",
	}, []string{"KEPT_TOKEN"})
	if want := []string{
		"PATH=/bin", "GOFLAGS=-x", "KEYBOARD=us", "KEPT_TOKEN=6", "DOCS_URL=https://h/a@b:c",
	}; !slices.Equal(passed, want) {
		t.Errorf("passed %q, want %q", passed, want)
	}
	want := []string{
		"API_KEYS", "DB_PASSWORD", "GITHUB_TOKEN", "OPENAI_API_KEY", "PIP_INDEX_URL", "REDIS_URL", "SSHPASS",
		"SSH_AUTH_SOCK",
		"WRIT_URL", "aws_secret_access_key",
	}
	if !slices.Equal(removed, want) {
		t.Errorf("removed %q, want %q", removed, want)
	}
}

// TestLinksDoNotWiden: an earlier command can make links in the working directory.
func TestLinksDoNotWiden(t *testing.T) {
	t.Parallel()
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(outside, "work")
	if err := os.MkdirAll(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"top": "/", "dev": "/dev", "up": "..", "near": "real", "../named": "work",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, problem := range map[string]string{
		dir + "/top": "name the directories", dir + "/top/etc/..": "name the directories",
		dir + "/dev": "name the directories",
		dir + "/up":  "leads out of the working directory", dir + "/top/usr": "leads out of the working directory",
		dir + "/near": "", dir + "/real": "", dir: "", outside + "/named": "",
	} {
		for _, limits := range []confine.Limits{{Write: []string{path}}, {Read: []string{path}}} {
			o := Options{Command: []string{"true"}, Dir: dir, Limits: limits}
			err := o.checkPaths()
			if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v, want %q", path, err, problem)
			}
		}
	}
}

// TestLinksOfCommandsDoNotWiden: an earlier command can make links wherever it may write, and a link of the person may
// lead to one of those.
func TestLinksOfCommandsDoNotWiden(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cache", "work/sub", "work/deps", "secret", "tools"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"cache/tools": "../secret", "work/out": "../secret", "work/near": "deps", "mine": "work/out", "moved": "tools",
		"work-link": "work", "all": ".", "above": "..", "loop": "loop",
	} {
		if err := os.Symlink(to, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, problem := range map[string]string{
		"/cache/tools": "where commands may write", "/work/out": "where commands may write",
		"/mine": "where commands may write", "/work-link/out": "where commands may write",
		"/all": "holds the home", "/above": "holds the home", "/all/mine": "where commands may write",
		"/work/near": "", "/moved": "", "/work-link": "", "/work-link/near": "", "/secret": "", "/absent": "",
		"/loop": "",
	} {
		o := Options{Command: []string{"true"}, Dir: home + "/work/sub", Home: home, Limits: confine.Limits{
			Write: []string{home + "/work-link", home + "/cache"}, Read: []string{home + path},
		}}
		err := o.checkPaths()
		if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, want %q", path, err, problem)
		}
	}
}

func TestQuotasSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, problem string
		want          Quotas
	}{
		{"memory=2G", "", Quotas{Memory: 2 << 30}},
		{"file=10K", "", Quotas{File: 10 << 10}},
		{"files=100", "", Quotas{Files: 100}},
		{"processes=400", "", Quotas{Processes: 400}},
		{"processes=10", "at least 301", Quotas{}},
		{"files=3", "at least 16", Quotas{}},
		{"memory=0", "must be a number", Quotas{}},
		{"memory=-1", "must be a number", Quotas{}},
		{"memory", "must be a number", Quotas{}},
		{"time=1", "must be NAME=NUMBER", Quotas{}},
	} {
		var got Quotas
		err := got.Set(c.text)
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) ||
			got != c.want {
			t.Errorf("%s: %+v, %v", c.text, got, err)
		}
	}
}

func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	got := protectedPaths([]string{"/w", "/r/.git"}, []string{"/w/deploy", "/elsewhere"})
	for _, path := range []string{
		"/w/.git/hooks", "/w/.git/config", "/w/.mcp.json", "/w/deploy", "/r/.git/hooks", "/r/.git/config",
	} {
		if !slices.Contains(got, path) {
			t.Errorf("%s is not protected", path)
		}
	}
	if slices.Contains(got, "/elsewhere") ||
		slices.Contains(protectedPaths([]string{"/w", "/w/.claude"}, nil), "/w/.claude") {
		t.Error("protects what nobody may write, or what the caller made writable by name")
	}
}

func TestCounterIsBounded(t *testing.T) {
	t.Parallel()
	c := Counter{}
	for i := range 2 * maxCounts {
		c.Add(strings.Repeat("x", i))
	}
	if got := c.List(); len(got) > maxCounts+1 || got[0].Name != "other" {
		t.Errorf("%d names, first %v", len(got), got[0])
	}
}

// TestProfile compares the profile of macOS with a golden file; no Mac has run it.
func TestProfile(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]macLimits{
		"nothing": {},
		"all": {
			write: []string{"/private/tmp/writ-run-1", `/Volumes/code/My "work"\x`}, read: []string{"/Volumes/code/go"},
			protected: []string{"/Volumes/code/app/.git/hooks"}, proxyPort: 3128,
		},
	} {
		file := filepath.Join("testdata", "profile-"+name+".sb")
		if *update {
			if err := os.WriteFile(file, []byte(limits.profile()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if got := limits.profile(); err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		&startError{ExitNotFound, ""}:                ExitNotFound,
		&NotHeldError{Cause: errors.New("x")}:        ExitFailure,
		errors.Join(&startError{ExitCannotRun, "x"}): ExitCannotRun,
	} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
