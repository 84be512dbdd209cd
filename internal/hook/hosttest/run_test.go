package hosttest_test

import (
	"strings"
	"testing"

	"writ/internal/hook/hosttest"
)

func writeFile(name string) hosttest.Call {
	return hosttest.Call{Tool: "write_file", Arguments: map[string]any{"file_path": name, "content": "text\n"}}
}

func touch(name string) hosttest.Call { return shell("touch " + name) }

func shell(command string) hosttest.Call {
	return hosttest.Call{Tool: "run_shell_command", Arguments: map[string]any{"command": command}}
}

// denyNo is a hook that denies calls with "no-" in their arguments.
const denyNo = `case $(cat) in *no-*) echo '{"decision":"deny","reason":"policy says no"}';; ` +
	`*) echo '{"decision":"allow"}';; esac`

// TestHandWrittenHooks: in the real host, a tool runs if its hook allows it or there is none, and never if it denies.
func TestHandWrittenHooks(t *testing.T) {
	t.Parallel()
	for i, host := range hosttest.Hosts(t) {
		t.Run(host.Version, func(t *testing.T) {
			t.Parallel()
			machine := hosttest.NewMachine(t, host)
			machine.Settings(t, map[string]any{"hooks": map[string]any{
				"BeforeTool": []any{hosttest.Hook("guard", denyNo, hosttest.Patience)},
			}})
			checkHandWritten(t, machine, true)
		})
		if i == 0 {
			t.Run(host.Version+" without a hook", func(t *testing.T) {
				t.Parallel()
				checkHandWritten(t, hosttest.NewMachine(t, host), false)
			})
		}
	}
}

// checkHandWritten makes calls one by one and several at a time.
func checkHandWritten(t *testing.T, machine *hosttest.Machine, guarded bool) {
	t.Helper()
	run := machine.Run(t, "write all", hosttest.Turns(
		hosttest.Calls(writeFile("no-a")), hosttest.Calls(writeFile("yes-b")),
		hosttest.Calls(touch("no-c"), writeFile("yes-d")), hosttest.Calls(touch("yes-e"), writeFile("no-f"))))
	for _, file := range []string{"no-a", "yes-b", "no-c", "yes-d", "yes-e", "no-f"} {
		if want := !guarded || strings.HasPrefix(file, "yes-"); machine.Has(file) != want {
			t.Errorf("%s: written %v, want %v", file, !want, want)
		}
	}
	if told := run.Told("Tool execution blocked: policy says no"); told != guarded {
		t.Errorf("the model was told of a block: %v", told)
	}
	if run.Exit != 0 || len(run.Requests) != 5 || len(run.Results()) != 6 {
		t.Errorf("exit %d, %d requests, results %+v: %s", run.Exit, len(run.Requests), run.Results(), run.Stderr)
	}
}
