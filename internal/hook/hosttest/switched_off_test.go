package hosttest_test

import (
	"strings"
	"testing"

	"writ/internal/hook/hosttest"
)

// TestAProjectSwitchesHooksOff shows a limit of the host that docs/coding-agents.md names: the settings of a trusted
// project switch all hooks off, the tool runs, and no banner says that the session is guarded. writ doctor and
// writ init gemini --check say so in that folder.
func TestAProjectSwitchesHooksOff(t *testing.T) {
	t.Parallel()
	eachHost(t, func(t *testing.T, host hosttest.Host) {
		t.Helper()
		o := newUnguarded(t, host, open)
		o.initGemini(t)
		if output, exit := o.writ(t, "init", "gemini", "--check"); exit != 0 {
			t.Errorf("init --check, guarded: exit %d, %s", exit, output)
		}
		run := o.play(t, "write", act{
			name: "a call without a plan", calls: []hosttest.Call{writeFile("a.txt")}, not: "a.txt", told: "plan",
		})
		if !strings.Contains(run.Stderr, "Writ guards this session") {
			t.Errorf("no banner: %s", run.Stderr)
		}
		o.WriteProject(t, ".gemini/settings.json", `{"hooksConfig": {"enabled": false}}`)
		run = o.play(t, "write", act{
			name: "a call without hooks", calls: []hosttest.Call{writeFile("b.txt")}, ran: "b.txt",
		})
		if strings.Contains(run.Stderr, "Writ guards this session") {
			t.Errorf("a banner says that the session is guarded: %s", run.Stderr)
		}
		for _, command := range [][]string{{"doctor"}, {"init", "gemini", "--check"}} {
			output, exit := o.writ(t, command...)
			if exit != 1 || !strings.Contains(output, o.Project+"/.gemini/settings.json switches all hooks off") {
				t.Errorf("writ %s: exit %d, %s", strings.Join(command, " "), exit, output)
			}
		}
	})
}
