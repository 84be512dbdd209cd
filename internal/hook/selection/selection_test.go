package selection_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"writ/internal/hook/selection"
	"writ/internal/hook/state"
)

// TestIsSilent: the payload is not read unless an alarm may have stopped a session.
func TestIsSilent(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	config, stored := filepath.Join(folder, "guard.json"), filepath.Join(folder, "state")
	text := fmt.Sprintf(`{"version":1,"server":"http://localhost","key":"ak_test_x","organization":"org",`+
		`"agent":"gemini-cli","host":"gemini","manifest":"","mode":"enforce","approvalWaitSeconds":0,"carryPlan":false,`+
		`"stateDir":%q,"writ":"/bin/writ","planServer":"/bin/writ-plan","capabilities":[],"protected":[]}`, stored)
	want := func(when string, silent bool) {
		t.Helper()
		if got := selection.IsSilent(config); got != silent {
			t.Errorf("%s: silent %v", when, got)
		}
	}
	want("without a guard file", true)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want("without a session", true)
	calm, err := state.Open(stored, "http://localhostak_test_x", "calm")
	if err != nil {
		t.Fatal(err)
	}
	if err := calm.Begin(state.Turn{Number: 1, StartedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	want("with a session", true)
	stopped, err := state.Open(stored, "http://localhostak_test_x", "stopped")
	if err != nil {
		t.Fatal(err)
	}
	if err := stopped.Raise("a tool ran that nobody decided about"); err != nil {
		t.Fatal(err)
	}
	want("with an alarm", false)
	if err := stopped.Begin(state.Turn{Number: 2, StartedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	want("in the next turn", true)
}
