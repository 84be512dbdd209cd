//go:build linux

package launch_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/internal/hook/launch"
)

// TestMain lets this program stand for the host's shell.
func TestMain(m *testing.M) {
	if launch.Is(os.Args) {
		os.Exit(launch.Main(os.Args, here))
	}
	if len(os.Args) > 1 && os.Args[1] == "hook" {
		os.Exit(0) // a writ that says nothing
	}
	os.Exit(m.Run())
}

var events = []string{
	"session-start", "before-agent", "before-tool-selection", "before-tool", "after-tool", "session-end",
}

func lineOf(writ, event string) launch.Line {
	l := launch.Line{Writ: writ, Config: "/srv/it's a 'guard'.json", Event: event}
	if event == "before-tool" {
		l.Patience = 60 * time.Second
	}
	return l
}

// TestParse: only our own commands are read, and they are read as they were written.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, event := range events {
		line := lineOf("/opt/'it is' writ'/writ", event)
		command := line.Command()
		if got, ok := launch.Parse(command); !ok || got != line {
			t.Errorf("%s: %+v, %t", command, got, ok)
		}
		for _, other := range []string{
			"", " " + command, command + " ", command + "; true", "true; " + command, command[1:],
			command[:len(command)-1], strings.Replace(command, "hook", "run", 1),
			strings.Replace(command, event, "no-event", 1), strings.Replace(command, event, "", 1),
			strings.Replace(command, "-t 60", "-t 060", 1) + "x", strings.ReplaceAll(command, "'", `"`),
			strings.Replace(command, "--config ", "--config x ", 1),
			strings.Replace(command, " hook", "$(true) hook", 1),
		} {
			if got, ok := launch.Parse(other); ok {
				t.Errorf("%q is taken for a command of ours: %+v", other, got)
			}
		}
	}
}

// program is a writ that does what a script says.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's writ")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAsBash: what stands for bash prints and returns what bash does for the same command, however the hook ends.
func TestAsBash(t *testing.T) {
	t.Parallel()
	ours, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"an answer":         `cat >/dev/null; printf '{"decision":"allow"}\n'`,
		"its input":         `cat; echo '}'`,
		"its arguments":     `printf '{%s|%s|%s|%s}\n' "$@"`,
		"nothing":           "exit 0",
		"a failure":         "exit 1",
		"half an answer":    `printf '{"decision":"allow"'`,
		"no end of line":    `printf '{"decision":"allow"}'`,
		"killed":            "kill -9 $$",
		"killed afterwards": `printf '{"decision":"allow"}\n'; kill -9 $$`,
		"text":              "echo hello",
	} {
		for _, event := range events {
			t.Run(name+" of "+event, func(t *testing.T) {
				t.Parallel()
				command := lineOf(program(t, script), event).Command()
				want, wantExit := start(t, "bash", command)
				got, exit := start(t, ours, command)
				if name == "killed afterwards" && wantExit == 2 { // ours gives the deny alone
					want = strings.TrimPrefix(want, "{\"decision\":\"allow\"}\n")
				}
				if got != want || exit != wantExit {
					t.Errorf("it prints %q with %d, and bash %q with %d", got, exit, want, wantExit)
				}
			})
		}
	}
	for _, event := range events {
		command := lineOf("/no/such/writ", event).Command()
		want, wantExit := start(t, "bash", command)
		if got, exit := start(t, ours, command); got != want || exit != wantExit {
			t.Errorf("without writ, %s: it prints %q with %d, and bash %q with %d", event, got, exit, want, wantExit)
		}
	}
}

// TestRefuses: it is no shell.
func TestRefuses(t *testing.T) {
	t.Parallel()
	ours, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"", "true", "echo '{}'"} {
		if got, exit := start(t, ours, command); exit != 2 || !strings.HasPrefix(got, `{"decision":"deny"`) {
			t.Errorf("%q: it prints %q with %d", command, got, exit)
		}
	}
}

// TestLate: a hook that does not answer in time is denied, and so is one whose child holds its output.
func TestLate(t *testing.T) {
	t.Parallel()
	ours, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"exec sleep 300", `printf '{"decision":"allow"'; sleep 300 & exit 0`} {
		line := lineOf(program(t, script), "before-tool")
		line.Patience = time.Second
		if got, exit := start(t, ours, line.Command()); exit != 2 || !strings.HasPrefix(got, `{"decision":"deny"`) {
			t.Errorf("%s: it prints %q with %d", script, got, exit)
		}
	}
}

// TestEnvironment: the hook does not see what loaders obey.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	ours, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := lineOf(program(t, `printf '{%s|%s|%s}\n' "$LD_BIND_NOW" "$MALLOC_TOP_PAD_" "$KEPT"`), "before-tool")
	got, _ := start(t, ours, line.Command(), "LD_BIND_NOW=1", "MALLOC_TOP_PAD_=9", "KEPT=yes")
	if got != "{||yes}\n" {
		t.Errorf("the hook sees %s", got)
	}
}

// start runs a command as the host does.
func start(t *testing.T, shell, command string, env ...string) (output string, exit int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), shell)
	c.Args = []string{"bash", "-c", command}
	c.Stdin = strings.NewReader(`{"payload":1`)
	c.Env = append(os.Environ(), append(env, "SHLVL=2")...)
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), c.ProcessState.ExitCode()
}
