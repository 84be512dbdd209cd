package execution_test

import (
	"fmt"
	"testing"
)

// TestOtherArgumentsAreAFinding, once, if the report states arguments and says that something ran. The plans of these
// tests say that every call of the tool "other" has other arguments.
func TestOtherArgumentsAreAFinding(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		planID := e.plan(e.acme)
		row := func(tool, rest string) string {
			return fmt.Sprintf(`{"plan_id":%q,"tool":%q%s}`, planID, tool, rest)
		}
		e.report(e.agent, row("same", `,"input":{"a":1},"status":"success"`), row("other", `,"status":"success"`),
			row("other", `,"input":null,"status":"success"`),
			row("other", `,"input":{"a":1},"status":"blocked"`), `{"tool":"other","input":{"a":1},"status":"success"}`)
		e.wantFindings()
		ran := row("other", `,"input":{"a":1},"status":"success"`)
		e.report(e.agent, ran, ran)
		e.wantFindings("execution_with_other_arguments other")
	})
}

// TestAlarmsOfClients: a client that saw its host execute other arguments than were decided makes a finding;
// other words do not.
func TestAlarmsOfClients(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.report(e.agent, `{"tool":"a","status":"success","alarm":"nonsense"}`,
			`{"tool":"a","status":"failed","alarm":7}`,
			`{"tool":"a","status":"blocked","alarm":"other_arguments"}`)
		e.wantFindings()
		row := `{"tool":"b","input":{"path":"x"},"status":"success","alarm":"other_arguments"}`
		e.report(e.agent, row, row)
		e.wantFindings("execution_with_other_arguments b")
	})
}
