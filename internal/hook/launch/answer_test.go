//go:build linux

package launch_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"writ/internal/hook/launch"
)

// here answers in this process, as the path of the guard file says.
var here = launch.Program{
	Answers: func(args []string) bool { return filepath.Base(args[1]) != "another" },
	Main: func(args []string) int {
		switch filepath.Base(args[1]) {
		case "answer":
			_, _ = os.Stdout.WriteString("{\"decision\":\"allow\"}\n")
		case "killed":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "stopped":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			select {}
		case "hangs":
			time.Sleep(time.Hour)
		case "crashes":
			panic("crashed")
		}
		return 0
	},
}

// TestAnswersHere: a process that answers by itself has denied before it begins, so that no end of it allows; and it
// ends in time.
func TestAnswersHere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how, event string
		stdout     string
		denies     string // what stderr begins with
		exit       int    // -1: a signal
	}{
		{"answer", "before-tool", "{\"decision\":\"allow\"}\n", `{"decision":"deny"`, 0},
		{"killed", "before-tool", "", `{"decision":"deny"`, -1},
		{"stopped", "before-tool", "", `{"decision":"deny"`, -1},
		{"hangs", "before-tool", "", `{"decision":"deny"`, -1},
		{"crashes", "before-tool", "", `{"decision":"deny"`, 2},
		{"killed", "after-tool", "", `{"decision":"deny"`, -1},
		{"answer", "before-tool-selection", "{\"decision\":\"allow\"}\n", "", 0},
		{"killed", "before-tool-selection", "", "", -1},
	} {
		t.Run(c.how+" in "+c.event, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, exit := startHere(t, c.how, c.event)
			whole := stderr == "" || strings.HasSuffix(strings.TrimSpace(stderr), "}") || c.exit == 2
			if stdout != c.stdout || !strings.HasPrefix(stderr, c.denies) || exit != c.exit || !whole ||
				c.denies == "" && stderr != "" {
				t.Errorf("it prints %q and on stderr %q with %d", stdout, stderr, exit)
			}
		})
	}
}

// TestStartsAnother: what this program cannot answer, or must not because the command names another one, is started.
func TestStartsAnother(t *testing.T) {
	t.Parallel()
	// The program that is named is this one, which as writ says nothing.
	if stdout, stderr, exit := startHere(t, "another", "before-tool"); exit != 2 ||
		!strings.HasPrefix(stderr, `{"decision":"deny"`) || !strings.HasPrefix(stdout, `{"decision":"deny"`) {
		t.Errorf("it prints %q and on stderr %q with %d", stdout, stderr, exit)
	}
	ours, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := lineOf(program(t, `printf '{"decision":"allow","reason":"another"}\n'`), "before-tool")
	line.Config = "/srv/answer"
	if got, exit := start(t, ours, line.Command()); exit != 0 || !strings.Contains(got, "another") {
		t.Errorf("a program of another build does not answer: %q with %d", got, exit)
	}
}

// TestAKilledLauncherHasDenied: the host reads stderr where stdout is empty.
func TestAKilledLauncherHasDenied(t *testing.T) {
	t.Parallel()
	ours, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started := filepath.Join(t.TempDir(), "started")
	line := lineOf(program(t, "touch "+started+"; exec sleep 300"), "before-tool")
	c := exec.CommandContext(t.Context(), ours)
	c.Args = []string{"bash", "-c", line.Command()}
	var out, messages bytes.Buffer
	c.Stdout, c.Stderr = &out, &messages
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the hook does not start")
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	if out.Len() > 0 || !strings.HasPrefix(messages.String(), `{"decision":"deny"`) {
		t.Errorf("it printed %q, and on stderr %q", out.String(), messages.String())
	}
}

func startHere(t *testing.T, how, event string) (stdout, stderr string, exit int) {
	t.Helper()
	ours, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := lineOf(ours, event)
	line.Config = "/srv/" + how
	if line.Patience > 0 && how != "answer" {
		line.Patience = time.Second
	}
	c := exec.CommandContext(t.Context(), ours)
	c.Args = []string{"bash", "-c", line.Command()}
	var out, messages bytes.Buffer
	c.Stdout, c.Stderr = &out, &messages
	if err := c.Run(); c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), messages.String(), c.ProcessState.ExitCode()
}
