package decisions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// stepAsker declares plans and asks about their steps as plugins do, with the plan's token alone.
type stepAsker struct {
	*testserver.Org
	t *testing.T
}

func eachStepAsker(t *testing.T, rules string, body func(t *testing.T, a stepAsker)) {
	t.Helper()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, "version: v1\nname: rules\nrules:\n"+rules)
		body(t, stepAsker{o, t})
	})
}

func (a stepAsker) declare(plan string) client.PlanToken {
	a.t.Helper()
	return a.Declared(a.Agent.APIKey, client.PlanRequest{
		Plan: json.RawMessage(plan), AgentID: "claude-code", ExpiresIn: 600,
	})
}

func (a stepAsker) ask(token client.PlanToken, tool string) (answer m) {
	a.t.Helper()
	return a.askWith(m{"token": token.JWT, "tool_name": tool})
}

// askAbout sends the proof of the step that is meant, as plugins do that know it.
func (a stepAsker) askAbout(token client.PlanToken, tool string, step int) (answer m) {
	a.t.Helper()
	return a.askWith(m{
		"token": token.JWT, "tool_name": tool, "path": fmt.Sprintf("/steps/[%d]/action", step), "step_index": step,
		"proof": token.StepProofs[step],
	})
}

func (a stepAsker) askWith(body m) (answer m) {
	a.t.Helper()
	err := a.Public.Call(a.t.Context(), http.MethodPost, "/iap/verify-step", nil, body, &answer)
	if err != nil {
		a.t.Fatal(err)
	}
	return answer
}

// enforce asks about the same call on the route of plugins that send its arguments.
func (a stepAsker) enforce(token client.PlanToken, tool string, input any) (answer m) {
	a.t.Helper()
	err := a.Agent.Call(a.t.Context(), http.MethodPost, "/iap/enforce", nil,
		m{"source": "armorclaude", "tool_name": tool, "tool_input": input, "intent_token": token.JWT}, &answer)
	if err != nil {
		a.t.Fatal(err)
	}
	return answer
}

// report reports a call as the Claude plugin does, and matches it.
func (a stepAsker) report(token client.PlanToken, tool string, input any) {
	a.t.Helper()
	var answer struct{ Written int }
	err := a.Agent.Call(a.t.Context(), http.MethodPost, "/iap/audit/batch", nil, m{"rows": []any{m{
		"token": token.JWT, "step_index": 0, "action": tool, "tool": tool, "input": input, "output": nil,
		"status": "success", "executed_at": a.Now(), "duration_ms": 0,
	}}}, &answer)
	if err != nil || answer.Written != 1 {
		a.t.Fatalf("report: %+v, %v", answer, err)
	}
	if err := a.Executions.Reconcile(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
}

func (a stepAsker) findings() (kinds []string) {
	a.t.Helper()
	page, err := a.Owner.Findings(a.t.Context(), a.ID, "", client.List{})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, f := range page.Items {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

func (a stepAsker) planStatus(token client.PlanToken) string {
	a.t.Helper()
	plan, err := a.Owner.Plan(a.t.Context(), token.PlanID)
	if err != nil {
		a.t.Fatal(err)
	}
	return plan.Status
}

const (
	allowBank  = `  - {id: bank, effect: allow, tools: ["bank.*"]}` + "\n"
	allowLs    = `  - {id: ls, effect: allow, tools: ["claude-code.Bash"], when: 'args.command == "ls"'}` + "\n"
	stampedPay = `{"steps":[{"action":"mcp__bank__pay","tool":"mcp__bank__pay","mcp":"claude-code","description":"","metadata":{}}],
		"metadata":{"goal":"pay","source":"claude-code-registered"}}`
	plannedLs = `{"steps":[{"action":"Bash","tool":"Bash","mcp":"claude-code","description":"","metadata":{"inputs":{"command":"ls"}}}],
		"metadata":{"goal":"look","source":"claude-code-registered"}}`
)

// TestAStampedStepIsAnsweredAsItsCall asks about a tool of an MCP server that a plugin planned under its own name.
func TestAStampedStepIsAnsweredAsItsCall(t *testing.T) {
	t.Parallel()
	eachStepAsker(t, allowBank, func(t *testing.T, a stepAsker) {
		token := a.declare(stampedPay)
		step, call := a.ask(token, "mcp__bank__pay"), a.enforce(token, "mcp__bank__pay", m{"amount": 5})
		if step["allowed"] != true || step["rule"] != "bank" || call["allowed"] != true || call["rule"] != "bank" {
			t.Errorf("the step: %v\nthe call: %v", step, call)
		}
	})
}

// TestAVerifiedStepIsADecision: what verify-step allowed and the client reports is no finding, and the plan's report
// counts it.
func TestAVerifiedStepIsADecision(t *testing.T) {
	t.Parallel()
	eachStepAsker(t, allowBank, func(t *testing.T, a stepAsker) {
		token := a.declare(stampedPay)
		answer := a.ask(token, "mcp__bank__pay")
		if answer["allowed"] != true || answer["decisionId"] == nil || answer["receipt"] == nil {
			t.Errorf("the step: %v", answer)
		}
		a.ask(token, "mcp__bank__close") // not in the plan
		a.report(token, "mcp__bank__pay", m{"amount": 5})
		if found := a.findings(); len(found) != 0 {
			t.Errorf("findings: %v", found)
		}
		var report struct {
			Allowed, Refused, Executed int64
			Used                       int
			Steps                      []struct{ Allow, Executed int64 }
		}
		err := a.Owner.Call(t.Context(), http.MethodGet, "/iap/plan/"+token.PlanID+"/report", nil, nil, &report)
		if err != nil || report.Allowed != 1 || report.Refused != 1 || report.Used != 1 || report.Executed != 1 ||
			len(report.Steps) != 1 || report.Steps[0].Allow != 1 || report.Steps[0].Executed != 1 {
			t.Errorf("the plan's report: %+v, %v", report, err)
		}
		a.report(token, "mcp__bank__pay", m{"amount": 6}) // once was allowed
		if found := a.findings(); len(found) != 1 || found[0] != "execution_without_decision" {
			t.Errorf("findings after a second call: %v", found)
		}
		entries, err := a.Owner.LogEntries(t.Context(), a.ID, client.LogFilter{Action: "step.verified"})
		if err != nil || len(entries.Items) != 2 {
			t.Errorf("entries of verified steps: %+v, %v", entries.Items, err)
		}
	})
}

// TestAStepThatIsAllowedByItsPlan: only `ls` may run, and the step says `ls`. The organization says whether the plan is
// believed; a report that contradicts it ends it.
func TestAStepThatIsAllowedByItsPlan(t *testing.T) {
	t.Parallel()
	eachStepAsker(t, allowLs, func(t *testing.T, a stepAsker) {
		token := a.declare(plannedLs)
		held := a.ask(token, "Bash")
		if held["allowed"] != false || held["decision"] != "hold" || held["argumentsFrom"] != "plan" ||
			!strings.Contains(held["reason"].(string), "arguments that its plan states") {
			t.Fatalf("the step: %v", held)
		}
		settings, err := a.Owner.EnforcementSettings(t.Context(), a.ID)
		if err != nil || settings.PlannedArguments != "hold" {
			t.Fatalf("settings: %+v, %v", settings, err)
		}
		settings.PlannedArguments = "allow"
		if set, err := a.Owner.SetEnforcementSettings(t.Context(), a.ID, settings); err != nil || set != settings {
			t.Fatalf("set: %+v, %v", set, err)
		}
		step, call := a.ask(token, "Bash"), a.enforce(token, "Bash", m{"command": "ls"})
		if step["allowed"] != true || call["allowed"] != true || step["rule"] != call["rule"] {
			t.Errorf("the step: %v\nthe call: %v", step, call)
		}
		a.report(token, "Bash", m{"command": "ls", "description": "list"})
		if found, status := a.findings(), a.planStatus(token); len(found) != 0 || status != "active" {
			t.Errorf("reported as planned: %v, the plan is %s", found, status)
		}
		a.report(token, "Bash", m{"command": "rm -rf /"})
		if found, status := a.findings(), a.planStatus(token); len(found) != 1 || status != "failed" ||
			found[0] != "execution_with_other_arguments" {
			t.Errorf("reported otherwise: %v, the plan is %s", found, status)
		}
		if after := a.ask(token, "Bash"); after["allowed"] != false ||
			!strings.Contains(after["reason"].(string), "has ended") {
			t.Errorf("after that report: %v", after)
		}
		settings.PlannedArguments = "sure"
		_, err = a.Owner.SetEnforcementSettings(t.Context(), a.ID, settings)
		testserver.WantStatus(t, "a word that means nothing", err, http.StatusBadRequest)
	})
}

// TestAHeldStepIsApproved: the request says that nobody has seen the arguments; its approval lets the step run once.
func TestAHeldStepIsApproved(t *testing.T) {
	t.Parallel()
	eachStepAsker(t, `  - {id: pay, effect: hold, tools: ["bank.*"]}`+"\n", func(t *testing.T, a stepAsker) {
		token := a.declare(stampedPay)
		held := a.ask(token, "mcp__bank__pay")
		id, _ := held["approvalId"].(string)
		if held["allowed"] != false || held["decision"] != "hold" || id == "" || held["argumentsFrom"] != "unknown" {
			t.Fatalf("the step: %v", held)
		}
		request, err := a.Owner.ApprovalRequest(t.Context(), a.ID, id)
		if err != nil || request.ArgumentsFrom != "unknown" || request.Step == nil || *request.Step != 0 ||
			request.PlanID != token.PlanID || len(request.Scopes) != 1 {
			t.Fatalf("the request: %+v, %v", request, err)
		}
		if err := a.Notifications.ProcessEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		inbox, err := a.Owner.Notifications(t.Context(), a.ID, false, client.List{})
		if err != nil || len(inbox.Items) != 1 || !strings.Contains(inbox.Items[0].Title, "arguments unknown") {
			t.Errorf("the notification: %+v, %v", inbox.Items, err)
		}
		if _, err := a.Owner.Approve(t.Context(), a.ID, client.Approval{ID: id}); err != nil {
			t.Fatal(err)
		}
		if call := a.enforce(token, "mcp__bank__pay", m{}); call["allowed"] != false || call["approvalId"] == id {
			t.Errorf("/iap/enforce uses it: %v", call)
		}
		if step := a.ask(token, "mcp__bank__pay"); step["allowed"] != true || step["approvalId"] != id {
			t.Errorf("after the approval: %v", step)
		}
		if again := a.ask(token, "mcp__bank__pay"); again["allowed"] != false || again["approvalId"] == id {
			t.Errorf("a second time: %v", again)
		}
	})
}

// believePlans lets the arguments that plans state allow a step.
func (a stepAsker) believePlans() {
	a.t.Helper()
	settings, err := a.Owner.EnforcementSettings(a.t.Context(), a.ID)
	if err != nil {
		a.t.Fatal(err)
	}
	settings.PlannedArguments = "allow"
	if _, err := a.Owner.SetEnforcementSettings(a.t.Context(), a.ID, settings); err != nil {
		a.t.Fatal(err)
	}
}

const lsThenMake = `{"steps":[{"action":"Bash","tool":"Bash","mcp":"claude-code","metadata":{"inputs":{"command":"ls"}}},
	{"action":"Bash","tool":"Bash","mcp":"claude-code","metadata":{"inputs":{"command":"make"}}}]}`

// TestAReportOfAnotherStep: the client proved that it means one step, and reports the arguments of another.
func TestAReportOfAnotherStep(t *testing.T) {
	t.Parallel()
	eachStepAsker(t, `  - {id: bash, effect: allow, tools: ["claude-code.Bash"]}`+"\n", func(
		t *testing.T, a stepAsker,
	) {
		a.believePlans()
		token := a.declare(lsThenMake)
		if step := a.askAbout(token, "Bash", 0); step["allowed"] != true || step["argumentsFrom"] != "plan" {
			t.Fatalf("the step: %v", step)
		}
		if call := a.enforce(token, "Bash", m{"command": "make"}); call["allowed"] != true {
			t.Fatalf("the call: %v", call)
		}
		a.report(token, "Bash", m{"command": "make"}) // which was decided with its arguments
		if found, status := a.findings(), a.planStatus(token); len(found) != 0 || status != "active" {
			t.Errorf("reported as decided: %v, the plan is %s", found, status)
		}
		a.report(token, "Bash", m{"command": "make"}) // again, which was not
		if found, status := a.findings(), a.planStatus(token); len(found) != 1 || status != "failed" ||
			found[0] != "execution_with_other_arguments" {
			t.Errorf("reported as another step: %v, the plan is %s", found, status)
		}
	})
}

// TestVerifiedStepsAreOrderedAndCounted as calls are, and the answer says which step was used.
func TestVerifiedStepsAreOrderedAndCounted(t *testing.T) {
	t.Parallel()
	const limited = `{"ordered":true,"steps":[{"action":"look","mcp":"bank"},{"action":"pay","mcp":"bank","max_calls":1}]}`
	eachStepAsker(t, allowBank, func(t *testing.T, a stepAsker) {
		token := a.declare(limited)
		for i, c := range []struct {
			tool    string
			allowed bool
			reason  string
		}{
			{"pay", false, "comes before this one"}, {"look", true, ""}, {"pay", true, ""}, {"pay", false, "used up"},
			{"look", false, "is behind"},
		} {
			answer := a.ask(token, c.tool)
			if answer["allowed"] != c.allowed || !strings.Contains(answer["reason"].(string), c.reason) {
				t.Errorf("question %d, %s: %v", i, c.tool, answer)
			}
			if want := map[string]float64{
				"look": 0, "pay": 1,
			}[c.tool]; answer["step"].(map[string]any)["step_index"] != want {
				t.Errorf("question %d, %s: the step is %v", i, c.tool, answer["step"])
			}
		}
		if call := a.enforce(token, "pay", m{}); call["allowed"] != false {
			t.Errorf("a call after the last use: %v", call)
		}
	})
}
