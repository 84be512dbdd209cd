package evasion

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// writPath is where the sandbox holds writ.
const writPath = "/run/writ"

// buildWrit builds the program that confines, static as it is shipped.
func buildWrit(t *testing.T) tool {
	t.Helper()
	built := filepath.Join(t.TempDir(), "writ")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", built, "writ/cmd/writ")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build writ: %v: %s", err, out)
	}
	return tool{from: built, to: writPath}
}

// confined runs a command as a hook would: it may write the workspace, and has no
// network.
func confined(command string) order {
	return order{Argv: []string{
		writPath, "run", "--write", workspace, "--net", "none", "--", "/bin/bash", "-c", command,
	}}
}

// TestConfinedCandidatesLeaveNothing runs candidates under writ run. Whatever they do,
// nothing outside may change or be read. To start a program that is outside needs to
// read it, so that is held too.
func TestConfinedCandidatesLeaveNothing(t *testing.T) {
	seed, n := seedOf(t), number(t, "EVASIONS_CONFINED", 50)
	g, err := newGenerator(seed, programOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	writ := []tool{buildWrit(t)}
	checkConfinement(t, writ)
	found := &tally{}
	runAll(t, n, writ, func(i int) order { return confined(g.candidate(i, false)) }, func(i int, o outcome) {
		command := g.candidate(i, false)
		found.add(command, o)
		if o.harmful() {
			t.Errorf("EVASION_SEED=%d, candidate %d left its confinement: %s\n  %v", seed, i, command, o)
		}
	})
	t.Logf("EVASION_SEED=%d: %d candidates ran confined: %v", seed, found.ran, found)
	if found.ran != n {
		t.Errorf("%d of %d ran", found.ran, n)
	}
}

// checkConfinement holds that confined commands really run, and may work inside: else
// nothing would leave because nothing happens.
func checkConfinement(t *testing.T, writ []tool) {
	t.Helper()
	cases := []struct {
		command string
		exit    int
	}{
		{"touch new && echo x > src/new && test -s src/new && git add new && git status", 0},
		{"python3 -c 'print(6 * 7)' && awk 1 a.txt && find . -name '*.go' | xargs wc -l", 0},
		{"touch ../other/new", 1},
		{"cat ../other/canary", 1},
		{"exit 7", 7},
	}
	runAll(t, len(cases), writ, func(i int) order { return confined(cases[i].command) }, func(i int, o outcome) {
		if o.Exit != cases[i].exit || o.harmful() {
			t.Errorf("confined %s: %v, want exit %d", cases[i].command, o, cases[i].exit)
		}
	})
}
