package hosttest_test

import (
	"testing"

	"writ/internal/hook/hosttest"
)

// open lets the agent write files.
const open = `
version: v1
name: open
default: deny
rules:
  - {id: files, effect: allow, tools: ["gemini-cli.write_file", "gemini-cli.run_shell_command"]}
`

// wholePlan names the tools of open, with any arguments.
func wholePlan() hosttest.Call {
	return register(map[string]any{
		"goal": "write files", "steps": []any{step("write_file", nil), step("run_shell_command", nil)},
	})
}

// TestBrokenGuards breaks the guard in the middle of a session, again and again. While it is broken no call
// runs, though the plan and the policy permit it; mended, calls run.
func TestBrokenGuards(t *testing.T) {
	t.Parallel()
	eachHost(t, breakGuards)
}

func breakGuards(t *testing.T, host hosttest.Host) {
	t.Helper()
	o := newOffice(t, host, open, nil)
	const mend = `cp "$HOME/kept/writ" "$HOME/kept/writ-client" "$HOME/bin/"; cp -p "$HOME/kept/guard.json" "$HOME/guard.json"`
	o.shell(t, `mkdir "$HOME/kept"; cp -p "$HOME"/bin/* "$HOME/guard.json" "$HOME/kept/"`)
	acts := []act{
		{name: "a plan", calls: []hosttest.Call{wholePlan()}, told: "The plan is registered"},
		{name: "nothing is broken", calls: []hosttest.Call{writeFile("whole.txt")}, ran: "whole.txt"},
	}
	for _, broken := range []struct {
		name, script string
		gate         string
		guard        map[string]any
	}{
		{name: "writ is missing", script: `rm "$HOME/bin/writ"`},
		{
			name:   "writ is killed",
			script: `rm "$HOME/bin/writ"; printf '#!/bin/sh\nkill -9 $$\n' >"$HOME/bin/writ"; chmod 700 "$HOME/bin/writ"`,
		},
		{name: "writ says nothing", script: `cp /bin/true "$HOME/bin/writ"`},
		{name: "writ and writ-client are missing", script: `rm "$HOME"/bin/writ*`},
		{name: "the guard file is gone", script: `rm "$HOME/guard.json"`},
		{name: "others may read the guard file", script: `chmod 644 "$HOME/guard.json"`},
		{name: "the server is down", gate: "closed"},
		{name: "the server fails", gate: "fails"},
		{name: "the server hangs", gate: "hangs", guard: map[string]any{"answerSeconds": 1}},
	} {
		acts = append(acts, act{
			name: broken.name,
			before: func() {
				o.gate.how.Store(broken.gate)
				if broken.guard != nil {
					o.setGuard(t, broken.guard)
				}
				o.shell(t, broken.script)
			},
			calls: []hosttest.Call{writeFile("broken.txt"), touch("broken.txt")},
			not:   "broken.txt", told: "Tool execution blocked",
			after: func() {
				o.gate.how.Store("")
				o.shell(t, mend)
			},
		})
	}
	acts = append(acts, act{name: "mended", calls: []hosttest.Call{writeFile("mended.txt")}, ran: "mended.txt"})
	o.play(t, "write", acts...)
}

// TestASlowHook: a writ that does not answer is not waited for as long as the host waits.
func TestASlowHook(t *testing.T) {
	t.Parallel()
	eachHost(t, func(t *testing.T, host hosttest.Host) {
		t.Helper()
		o := newOffice(t, host, open, map[string]any{"answerSeconds": 1})
		o.shell(t, `printf '#!/bin/sh\ncase "$*" in *before-tool) exec sleep 300;; esac\n' >"$HOME/bin/writ"`)
		o.play(t, "write", act{
			name: "writ is slow", calls: []hosttest.Call{writeFile("a.txt")}, not: "a.txt", told: "did not answer",
		})
	})
}

// TestFilesOfTheShell: what a project and the home have the shell read before the hook does not switch it off.
func TestFilesOfTheShell(t *testing.T) {
	t.Parallel()
	eachHost(t, readFilesOfTheShell)
}

func readFilesOfTheShell(t *testing.T, host hosttest.Host) {
	t.Helper()
	o := newOffice(t, host, open, nil)
	o.shell(t, `printf 'BASH_ENV=%s/evil.sh\n' "$PWD" >.env; echo 'exit 0' >evil.sh; echo 'exit 0' >"$HOME/.bashrc"`)
	o.play(t, "write",
		act{name: "a call without a plan", calls: []hosttest.Call{writeFile("a.txt")}, not: "a.txt", told: "plan"},
		act{name: "a plan", calls: []hosttest.Call{wholePlan()}, told: "The plan is registered"},
		act{name: "a command", calls: []hosttest.Call{touch("a.txt")}, not: "a.txt", told: "BASH_ENV"},
		act{name: "a planned call", calls: []hosttest.Call{writeFile("b.txt")}, ran: "b.txt"})
}
