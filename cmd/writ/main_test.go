package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientIsStarted: all commands but run are those of the program beside writ.
func TestClientIsStarted(t *testing.T) {
	t.Parallel()
	both, alone := t.TempDir(), t.TempDir()
	build(t, both, "writ/cmd/writ", "writ/cmd/writ-client")
	build(t, alone, "writ/cmd/writ")
	for _, c := range []struct {
		dir  string
		args []string
		exit int
		says string
	}{
		{both, []string{"version"}, 0, "dev\n"},
		{both, nil, 0, "Work with a Writ server"},
		{both, []string{"run", "--help"}, 0, "--protect PATH"},
		{both, []string{"run", "--nonsense"}, 125, "unknown flag: --nonsense"},
		{both, []string{"run", "--net", "nonsense", "--", "true"}, 125, "must be HOST:PORT"},
		{alone, []string{"run", "--timeout", "1x", "--", "true"}, 125, "invalid argument \"1x\" for --timeout"},
		{alone, []string{"version"}, 1, "cannot start writ-client"},
		{alone, []string{"run", "--net", "one.test:443", "--", "true"}, 1, "cannot start writ-client"},
	} {
		cmd := exec.Command(filepath.Join(c.dir, "writ"), c.args...)
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
