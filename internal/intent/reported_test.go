package intent_test

import (
	"context"
	"strings"
	"testing"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/principal"
)

// TestAReportEndsItsPlan only if a step was allowed by planned arguments, and the plan's own key reports others.
func TestAReportEndsItsPlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		minted := e.mint(e.agent, request(twoSteps))
		write := func(do func(ctx context.Context, tx *database.Tx) error) {
			t.Helper()
			logs := []string{audit.LogOf(e.acme), audit.LogOf(e.globex)}
			if err := e.DB.Write(t.Context(), database.Change{Logs: logs, Do: do}); err != nil {
				t.Fatal(err)
			}
		}
		other := func(by principal.Principal, tool, args string) (other bool) {
			t.Helper()
			parsed, err := plan.ParseArguments([]byte(args))
			if err != nil {
				t.Fatal(err)
			}
			write(func(ctx context.Context, tx *database.Tx) (err error) {
				other, err = e.plans.EndIfOther(ctx, tx, by, minted.PlanID, plan.Call{Tool: tool, Arguments: parsed})
				return err
			})
			return other
		}
		if other(e.agent, "Bash", `{"command":"rm"}`) {
			t.Error("nothing was allowed by the plan's arguments, and the plan ended")
		}
		for range 2 { // as often as it is allowed
			write(func(ctx context.Context, tx *database.Tx) error {
				return intent.NoteAllowed(ctx, tx, minted.PlanID, 1)
			})
		}
		for name, got := range map[string]bool{
			"as planned":                        other(e.agent, "Bash", `{"command":"make","why":"x"}`),
			"another tool of the plan":          other(e.agent, "Read", `{"path":"x"}`),
			"a tool that is not planned":        other(e.agent, "Write", `{}`),
			"another key of the organization":   other(e.other, "Bash", `{"command":"rm"}`),
			"a key of another organization":     other(e.foreign, "Bash", `{"command":"rm"}`),
			"the same tool in another spelling": other(e.agent, "bash", `{"command":"make"}`),
		} {
			if got {
				t.Errorf("%s: ended the plan", name)
			}
		}
		if d := e.find(e.acme, shown(minted)); d.Status != plan.Active {
			t.Fatalf("the plan is %s", d.Status)
		}
		for range 2 { // the second finds it ended
			if !other(e.agent, "Bash", `{"command":"rm"}`) {
				t.Error("other arguments are taken for the planned")
			}
		}
		if d := e.find(e.acme, shown(minted)); d.Status != plan.Failed {
			t.Errorf("the plan is %s", d.Status)
		}
		if n := strings.Count(e.actions(e.acme), "plan.status_changed"); n != 1 {
			t.Errorf("%d changes are recorded, want one", n)
		}
	})
}
