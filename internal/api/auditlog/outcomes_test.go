package auditlog_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/decision"
	"writ/internal/projection"
	"writ/internal/testserver"
)

// TestFromDecisionToOutcome follows calls all the way: decided, executed,
// reported, matched, and shown.
func TestFromDecisionToOutcome(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, e *testserver.Org) {
		policyID := e.ActivePolicy(e.Owner, e.ID,
			"version: v1\nname: files\nrules:\n  - id: reads\n    effect: allow\n    tools: [\"files.read\"]\n")
		token := e.Declared(e.Agent.APIKey, client.PlanRequest{
			Plan: json.RawMessage(testserver.OnePlan), AgentID: "agent", ExpiresIn: 600,
		})
		decide := func(tool, arguments string) client.Decision {
			t.Helper()
			d, err := e.Agent.Enforce(t.Context(), client.PlannedCall{
				Tool: tool, Arguments: json.RawMessage(arguments), IntentToken: token.JWT,
			})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		allowed, denied := decide("read", `{"path":"a.txt"}`), decide("write", `{}`)
		if !allowed.Allowed || denied.Allowed {
			t.Fatalf("read: %+v, write: %+v", allowed, denied)
		}
		for _, row := range []string{
			`{"token":` + quoted(t, token.JWT) +
				`,"tool":"read","action":"read","mcp":"files","input":{"path":"a.txt"},"status":"success"}`,
			`{"token":` + quoted(t, token.JWT) +
				`,"tool":"write","action":"write","mcp":"files","input":{},"status":"success"}`,
		} {
			if _, err := e.Agent.ReportExecution(t.Context(), json.RawMessage(row)); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Executions.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := e.Owner.Findings(t.Context(), e.ID, "", client.List{})
		if err != nil || len(found.Items) != 1 || found.Items[0].Tool != "write" ||
			found.Items[0].PlanID != token.PlanID {
			t.Errorf("findings: %+v, %v; want the call that was denied and ran", found.Items, err)
		}
		wantFinding(t, e, found.Items[0])
		if err := projection.New(e.Database, e.Telemetry, decision.NewRecent()).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.WantPolicyStats(t, policyID, 1, 0)
		e.WantPolicyStats(t, "writ:intent", 0, 1)
		entries, err := e.Owner.LogEntries(t.Context(), e.ID, client.LogFilter{Plan: token.PlanID, Decision: "deny"})
		if err != nil || len(entries.Items) != 1 || entries.Items[0].Tool != "write" {
			t.Errorf("denials of the plan: %+v, %v", entries.Items, err)
		}
	})
}

// wantFinding reads a finding by its id, and others by none.
func wantFinding(t *testing.T, e *testserver.Org, want client.Finding) {
	t.Helper()
	got, err := e.Owner.Finding(t.Context(), e.ID, want.ID)
	if err != nil || got != want {
		t.Errorf("finding %s: %+v, %v; want %+v", want.ID, got, err, want)
	}
	for _, id := range []string{"x", "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30"} {
		_, err := e.Owner.Finding(t.Context(), e.ID, id)
		testserver.WantStatus(t, "finding "+id, err, http.StatusNotFound)
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
