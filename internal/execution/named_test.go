package execution_test

import (
	"strings"
	"testing"

	"writ/internal/verdict"
)

// TestAReportIsNamedAsItsCall: where a name alone says the server, the record has the server and the tool, and the
// server still says which decision is meant.
func TestAReportIsNamedAsItsCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		planID := e.plan(e.acme)
		e.decided(e.agent, verdict.Allow, planID, "shop", "pay", `{}`)
		decided := e.decided(e.agent, verdict.Allow, planID, "bank", "pay", `{}`)
		row := func(tool, rest string) string {
			return `{"plan_id":"` + planID + `","tool":"` + tool + `","input":{},"status":"success"` + rest + `}`
		}
		id := e.ran(e.agent, row("bank.pay", ""))
		again := e.ran(e.agent, row("bank.pay", `,"seq":1`))
		e.reconcile()
		if got := e.decisionOf(id); got != decided {
			t.Errorf("the report belongs to decision %q, want %q", got, decided)
		}
		if got := e.decisionOf(again); got != "" {
			t.Errorf("a second report belongs to decision %q of another server", got)
		}
		e.wantFindings("execution_without_decision bank.pay")
		e.ran(e.agent, row("mail.send", ""))
		e.ran(e.agent, row("bank.pay", `,"mcp":"other"`))
		for i, want := range []string{
			`{"input":{},"server":"bank","spelledAs":"bank.pay","status":"success","step":-1,"tool":"pay"}`,
			`{"input":{},"seq":1,"server":"bank","spelledAs":"bank.pay","status":"success","step":-1,"tool":"pay"}`,
			`{"input":{},"status":"success","step":-1,"tool":"mail.send"}`,
			`{"input":{},"server":"other","status":"success","step":-1,"tool":"bank.pay"}`,
		} {
			entry := e.entries(e.acme)[i]
			if !strings.Contains(string(entry.Payload), want) {
				t.Errorf("entry %d says %s, want %s", i, entry.Payload, want)
			}
			if split := i < 2; strings.Contains(entry.Record, `"tool":"pay"`) != split {
				t.Errorf("the record of entry %d is %s", i, entry.Record)
			}
		}
		tallies, err := e.service.PlanTally(t.Context(), e.owner, planID)
		if err != nil || len(tallies) != 3 || tallies[1].Server != "bank" || tallies[1].Tool != "pay" ||
			tallies[1].Count != 2 {
			t.Errorf("the tallies: %+v, %v", tallies, err)
		}
	})
}
