package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/decision"
	"writ/internal/projection"
)

// TestFromDecisionToOutcome follows calls all the way: decided, executed,
// reported, matched, and shown.
func TestFromDecisionToOutcome(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, e *bank) {
		policyID := e.activePolicy(e.owner, e.org,
			"version: v1\nname: files\nrules:\n  - id: reads\n    effect: allow\n    tools: [\"files.read\"]\n")
		token := e.declared(e.agent.APIKey, client.PlanRequest{
			Plan: json.RawMessage(onePlan), AgentID: "agent", ExpiresIn: 600,
		})
		decide := func(tool, arguments string) client.Decision {
			t.Helper()
			d, err := e.agent.Enforce(t.Context(), client.PlannedCall{
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
			if _, err := e.agent.ReportExecution(t.Context(), json.RawMessage(row)); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Executions.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := e.owner.Findings(t.Context(), e.org, "", client.List{})
		if err != nil || len(found.Items) != 1 || found.Items[0].Tool != "write" ||
			found.Items[0].PlanID != token.PlanID {
			t.Errorf("findings: %+v, %v; want the call that was denied and ran", found.Items, err)
		}
		if err := projection.New(e.Database, e.Telemetry, decision.NewRecent()).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.wantFigures(t, policyID, 1, 0)
		e.wantFigures(t, "writ:intent", 0, 1)
		entries, err := e.owner.LogEntries(t.Context(), e.org, client.LogFilter{Plan: token.PlanID, Decision: "deny"})
		if err != nil || len(entries.Items) != 1 || entries.Items[0].Tool != "write" {
			t.Errorf("denials of the plan: %+v, %v", entries.Items, err)
		}
	})
}

// wantFigures wants what the policy aggregate says of a policy.
func (e *bank) wantFigures(t *testing.T, policyID string, allowed, denied int64) {
	t.Helper()
	var got client.PolicyStats
	path := "/organization/" + e.org + "/observability/policies/" + policyID
	if err := e.owner.Call(t.Context(), http.MethodGet, path, nil, nil, &got); err != nil {
		t.Fatal(err)
	}
	if got.Calls != allowed+denied || got.Allowed != allowed || got.Denied != denied {
		t.Errorf("figures of %s: %+v, want %d allowed and %d denied", policyID, got, allowed, denied)
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
