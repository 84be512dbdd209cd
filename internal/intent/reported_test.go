package intent_test

import (
	"context"
	"fmt"
	"slices"
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
				other, err = e.plans.EndIfOther(ctx, tx, by, minted.PlanID, plan.Call{Tool: tool, Arguments: parsed},
					func([]int) (bool, error) { return false, nil })
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

// TestAReportIsComparedWithWhatWasAllowed: the arguments of another step with the same tool are other arguments, unless
// that step was decided with them.
func TestAReportIsComparedWithWhatWasAllowed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const steps = `{"steps":[{"action":"Bash","mcp":"sh","params":{"command":"ls"}},
			{"action":"Bash","mcp":"sh","params":{"command":"make"}},{"action":"Read","mcp":"sh","params":{"path":"a"}},
			{"action":"Read","mcp":"sh"}]}`
		for name, c := range map[string]struct {
			noted   []int
			tool    string
			args    string
			decided []int // covers them
			want    bool  // other arguments
			asked   string
		}{
			"the allowed step":                      {[]int{0}, "Bash", `{"command":"ls"}`, nil, false, "[]"},
			"another step of the tool":              {[]int{0}, "Bash", `{"command":"make"}`, nil, true, "[1]"},
			"the other way round":                   {[]int{1}, "Bash", `{"command":"ls"}`, nil, true, "[0]"},
			"another step, decided with arguments":  {[]int{0}, "Bash", `{"command":"make"}`, []int{1}, false, "[1]"},
			"both are allowed":                      {[]int{0, 1}, "Bash", `{"command":"make"}`, nil, false, "[]"},
			"a step that states nothing":            {[]int{2, 3}, "Read", `{"path":"b"}`, nil, false, "[]"},
			"such a step, which was not allowed":    {[]int{2}, "Read", `{"path":"b"}`, nil, true, "[3]"},
			"a tool of which no step was allowed":   {[]int{0}, "Read", `{"path":"b"}`, nil, false, "[]"},
			"no step has them, whatever is decided": {[]int{0}, "Bash", `{"command":"rm"}`, []int{0, 1}, true, "[]"},
		} {
			minted := e.mint(e.agent, request(steps))
			parsed, err := plan.ParseArguments([]byte(c.args))
			if err != nil {
				t.Fatal(err)
			}
			var other bool
			asked := []int{}
			err = e.DB.Write(t.Context(), database.Change{Logs: []string{audit.LogOf(e.acme)}, Do: func(
				ctx context.Context, tx *database.Tx,
			) (err error) {
				for _, step := range c.noted {
					if err := intent.NoteAllowed(ctx, tx, minted.PlanID, step); err != nil {
						return err
					}
				}
				other, err = e.plans.EndIfOther(ctx, tx, e.agent, minted.PlanID,
					plan.Call{Tool: c.tool, Arguments: parsed},
					func(steps []int) (bool, error) {
						asked = steps
						return slices.Equal(steps, c.decided), nil
					})
				return err
			}})
			if err != nil {
				t.Fatal(err)
			}
			status := e.find(e.acme, shown(minted)).Status
			if other != c.want || fmt.Sprint(asked) != c.asked || (status == plan.Failed) != c.want {
				t.Errorf("%s: other %t, asked about %v, the plan is %s", name, other, asked, status)
			}
		}
	})
}
