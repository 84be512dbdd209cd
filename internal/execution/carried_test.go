package execution_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/execution"
	"writ/internal/fault"
)

// TestCarriedCallsKeepTheirNames: of a client "unknown" says nothing, and a server may have a tool of that name.
func TestCarriedCallsKeepTheirNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := e.plan(e.acme)
		decided := e.allowed(e.agent, plan, "unknown", `{}`)
		call := execution.Carried{
			DecisionID: decided,
			PlanID:     plan,
			Server:     "srv",
			Tool:       "unknown",
			Arguments:  jsontext.Value(`{}`),
			Status:     execution.Success,
			At:         noon,
		}
		made, err := e.service.ReportCarried(t.Context(), e.agent, call)
		if err != nil {
			t.Fatal(err)
		}
		e.reconcile()
		if got := e.decisionOf(made.ID); got != decided {
			t.Errorf("the report belongs to decision %q, want %q", got, decided)
		}
		e.wantFindings()
		if again, err := e.service.ReportCarried(t.Context(), e.agent, call); err != nil || !again.Duplicate {
			t.Errorf("reported again: %+v, %v", again, err)
		}
		call.Tool = " "
		if _, err := e.service.ReportCarried(t.Context(), e.agent, call); !fault.Is(err, fault.Invalid) {
			t.Errorf("without a tool: %v, want it to be invalid for ever", err)
		}
		if answer := e.report(e.agent, `{"tool":"unknown"}`)[0]; answer.Problem != "names no tool" {
			t.Errorf("of a client: %+v", answer)
		}
	})
}
