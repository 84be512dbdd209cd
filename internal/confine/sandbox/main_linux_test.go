//go:build amd64 || arm64

package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"writ/internal/confine/sandbox"
)

// program is the built writ, with writ-client beside it.
var program string

// TestMain builds writ. A test binary that is started with "attack" is what tries to
// escape.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "attack" {
		os.Exit(attack(os.Args[2:]))
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "writ-sandbox-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "writ")
	command := exec.Command("go", "build", "-o", dir, "writ/cmd/writ", "writ/cmd/writ-client")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build writ: %v\n%s", err, output)
		return 1
	}
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile(os.Args[0], filepath.Join(dir, "attacker"))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

func attacker() string { return filepath.Join(filepath.Dir(program), "attacker") }

// user runs commands of a test.
type user struct {
	name string
	id   int // -1: who runs the test
}

// users are who runs the test and, if that is root, an ordinary user too.
func users() []user {
	all := []user{{"caller", -1}}
	if os.Getuid() == 0 {
		all = append(all, user{"nobody", 65534})
	}
	return all
}

// world is a set of directories around a run.
type world struct {
	user
	root, workspace, outside, shown, home string
}

// newWorld makes a workspace that may be written, a directory that may be read, and two
// that may not be touched: one outside and a home.
func newWorld(t *testing.T, u user) *world {
	t.Helper()
	root, err := os.MkdirTemp("", "writ-world-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	w := &world{user: u, root: root}
	for _, dir := range []struct {
		name string
		path *string
	}{{"workspace", &w.workspace}, {"outside", &w.outside}, {"shown", &w.shown}, {"home", &w.home}} {
		*dir.path = filepath.Join(root, dir.name)
		must(t, os.Mkdir(*dir.path, 0o755))
		must(t, os.WriteFile(filepath.Join(*dir.path, "canary"), []byte("canary of "+dir.name), 0o644))
	}
	w.own(t)
	return w
}

// own gives all of the world to its user.
func (w *world) own(t *testing.T) {
	t.Helper()
	if w.id < 0 {
		return
	}
	must(t, filepath.WalkDir(w.root, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, w.id, w.id))
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// command is writ run with arguments, in the workspace.
func (w *world) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, append([]string{"run"}, args...)...)
	w.prepare(cmd)
	return cmd
}

func (w *world) prepare(cmd *exec.Cmd) {
	cmd.Dir = w.workspace
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + w.home, "SOME_API_TOKEN=canary of the environment",
		"WRIT_API_KEY=canary of the environment", "HARMLESS=1",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if w.id >= 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(w.id), Gid: uint32(w.id)}
	}
}

// ran is what a command did.
type ran struct {
	exit        int
	out, errors string
}

func finish(t *testing.T, cmd *exec.Cmd) ran {
	t.Helper()
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), words.String()}
}

// run runs a shell command with flags.
func (w *world) run(t *testing.T, flags []string, script string) ran {
	t.Helper()
	return finish(t, w.command(t, append(flags, "--", "/bin/sh", "-c", script)...))
}

// reported runs a shell command and reads the report about it.
func (w *world) reported(t *testing.T, flags []string, script string) (ran, sandbox.Report) {
	t.Helper()
	file := filepath.Join(w.root, "report.json")
	r := w.run(t, append(flags, "--report", file), script)
	return r, readReport(t, file)
}

func readReport(t *testing.T, file string) sandbox.Report {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	var report sandbox.Report
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return report
}

// forEach runs a test for each user, with and without namespaces.
func forEach(t *testing.T, test func(t *testing.T, w *world, flat []string)) {
	t.Helper()
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, u), nil)
		})
		t.Run(u.name+" without namespaces", func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, u), flatFlags(u))
		})
	}
}

// flatFlags ask for Landlock and the filter alone.
func flatFlags(u user) []string {
	flags := []string{"--without", "namespaces"}
	if u.id < 0 && os.Getuid() == 0 {
		flags = append(flags, "--without", "processes")
	}
	return flags
}

func (r ran) want(t *testing.T, exit int, out string) {
	t.Helper()
	if r.exit != exit || !strings.Contains(r.out, out) {
		t.Errorf("exit %d, want %d, and %q in the output:\n%s%s", r.exit, exit, out, r.out, r.errors)
	}
}
