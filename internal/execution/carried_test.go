package execution_test

import (
	"testing"
	"time"

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

// TestCarriedCallsAreMatchedAlikeInOneSliceAndInTwo: when the job runs makes no difference, also where a client reports
// the same tool before or after the proxy does.
func TestCarriedCallsAreMatchedAlikeInOneSliceAndInTwo(t *testing.T) {
	t.Parallel()
	for _, clientFirst := range []bool{false, true} {
		for _, together := range []bool{true, false} {
			each(t, func(t *testing.T, e *env) {
				e.allowed(e.agent, "", "Bash", `{"n":0}`)
				e.ran(e.agent, `{"tool":"Bash","input":{"n":0}}`)
				e.reconcile() // from here on the key reports
				older := e.allowed(e.agent, "", "Bash", `{"n":2}`)
				decided := e.allowed(e.agent, "", "Bash", `{"n":1}`)
				if !together {
					e.reconcile()
				}
				var claimed string
				if clientFirst {
					claimed = e.ran(e.agent, `{"tool":"Bash","input":{"n":1}}`)
				}
				made, err := e.service.ReportCarried(t.Context(), e.agent, execution.Carried{
					DecisionID: decided,
					Tool:       "Bash",
					Arguments:  jsontext.Value(`{"n":1}`),
					Status:     execution.Success,
					At:         noon,
				})
				if err != nil {
					t.Fatal(err)
				}
				want := decided // as the best that waits
				if !clientFirst {
					claimed, want = e.ran(e.agent, `{"tool":"Bash","input":{"n":1}}`), older
				}
				e.reconcile()
				if got := e.decisionOf(made.ID); got != decided {
					t.Errorf("the carried call belongs to %q, want %q", got, decided)
				}
				if got := e.decisionOf(claimed); got != want {
					t.Errorf("client first %v: what it reports belongs to %q, want %q", clientFirst, got, want)
				}
				e.Pass(time.Hour)
				e.reconcile()
				if clientFirst {
					e.wantFindings("decision_without_outcome Bash")
				} else {
					e.wantFindings()
				}
			})
		}
	}
}
