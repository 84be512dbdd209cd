package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientIsStarted: all commands but run and the quick hooks are those of the program beside writ, or of that on
// PATH.
func TestClientIsStarted(t *testing.T) {
	t.Parallel()
	both, alone := t.TempDir(), t.TempDir()
	build(t, both, "writ/cmd/writ", "writ/cmd/writ-client")
	build(t, alone, "writ/cmd/writ")
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "writ-client"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	missing := "writ-client is not installed: it is neither " + alone + "/writ-client nor on PATH"
	for _, c := range []struct {
		dir  string
		args []string
		exit int
		says string
		path string
	}{
		{both, []string{"version"}, 0, "dev\n", ""},
		{both, nil, 0, "Work with a Writ server", ""},
		{both, []string{"run", "--help"}, 0, "--protect PATH", ""},
		{both, []string{"run", "--nonsense"}, 125, "unknown flag: --nonsense", ""},
		{both, []string{"run", "--net", "nonsense", "--", "true"}, 125, "must be HOST:PORT", ""},
		{alone, []string{"run", "--timeout", "1x", "--", "true"}, 125, "invalid argument \"1x\" for --timeout", ""},
		{alone, []string{"version"}, 0, "dev\n", "/nowhere:" + both},
		{alone, []string{"version"}, 1, missing, ""},
		{alone, []string{"version"}, 1, missing, "relative:" + alone},
		{alone, []string{"version"}, 1, "start " + broken + "/writ-client: permission denied", broken + ":" + both},
		{alone, []string{"run", "--net", "one.test:443", "--", "true"}, 1, missing, ""},
		{both, []string{"hook", "--help"}, 0, "before-tool-selection", ""},
		{both, []string{"hook"}, 0, `{"decision":"deny","reason":"Writ: an event must be named`, ""},
		{both, []string{"hook", "--config", "/no/such", "after-tool"}, 0, "cannot be found", ""},
		{alone, []string{"hook", "--config", "/no/such", "before-tool"}, 0, `{"decision":"deny"`, ""},
		{
			alone, []string{"hook", "--config", "/no/such", "session-end"}, 0,
			`{"decision":"deny","reason":"Writ: writ-client`, both,
		},
	} {
		cmd := exec.Command(filepath.Join(c.dir, "writ"), c.args...)
		cmd.Env = append(os.Environ(), "PATH="+c.path)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != c.exit || !strings.Contains(string(out), c.says) {
			t.Errorf("writ %q: exit %d, want %d: %s", c.args, cmd.ProcessState.ExitCode(), c.exit, out)
		}
	}
}

func build(t *testing.T, dir string, packages ...string) {
	t.Helper()
	out, err := exec.Command("go", append([]string{"build", "-o", dir + "/"}, packages...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("build %q: %v: %s", packages, err, out)
	}
}
