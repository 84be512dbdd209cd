package policies_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/decision"
	"writ/internal/projection"
	"writ/internal/testserver"
)

// TestAShadowOverHTTP runs a stricter version as a shadow while an agent works:
// every call is answered by the active version, the log tells what would have
// been, and so do the figures of the policy.
func TestAShadowOverHTTP(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, e *testserver.Org) {
		ctx := t.Context()
		text := func(effect string) string {
			return "version: v1\nname: files\nrules:\n  - id: reads\n    effect: " + effect +
				"\n    tools: [\"files.read\"]\n"
		}
		id := e.ActivePolicy(e.Owner, e.ID, text("allow"))
		if _, err := e.Owner.UpdatePolicy(ctx, id, client.YAMLDocument, text("deny"), 0); err != nil {
			t.Fatal(err)
		}
		started, err := e.Owner.StartShadow(ctx, id, 2)
		if err != nil || started.ShadowVersion == nil || *started.ShadowVersion != 2 || *started.ActiveVersion != 1 ||
			started.ShadowSince == nil || started.Rules[0].Effect != "deny" {
			t.Fatalf("started: %+v, %v", started, err)
		}
		token := e.Declared(e.Agent.APIKey, client.PlanRequest{
			Plan: json.RawMessage(testserver.OnePlan), AgentID: "agent", ExpiresIn: 600,
		})
		d, err := e.Agent.Enforce(ctx, client.PlannedCall{
			Tool: "read", Arguments: json.RawMessage(`{"path":"a.txt"}`), IntentToken: token.JWT,
		})
		if err != nil || !d.Allowed {
			t.Fatalf("read: %+v, %v; a shadow must not change it", d, err)
		}
		wantShadow(t, e, token.PlanID, id)
		if err := projection.New(e.Database, e.Telemetry, decision.NewRecent()).Run(ctx); err != nil {
			t.Fatal(err)
		}
		e.WantPolicyStats(t, id, 1, 0)
		figures, err := e.Owner.PolicyStats(ctx, e.ID, id, 1)
		if want := (client.ShadowStats{Calls: 1, Denied: 1, WouldDeny: 1}); err != nil || figures.Shadow != want {
			t.Errorf("figures: %+v, %v; want the shadow's %+v", figures, err, want)
		}
		for version, want := range map[int]client.ShadowStats{1: {}, 2: {Calls: 1, Denied: 1, WouldDeny: 1}} {
			if got, err := e.Owner.ShadowStats(ctx, e.ID, id, version, 1); err != nil || got != want {
				t.Errorf("figures of version %d: %+v, %v; want %+v", version, got, err, want)
			}
		}
		wantNoWordOfShadows(t, e, token.PlanID)
		for range 2 { // the second changes nothing
			ended, err := e.Owner.EndShadow(ctx, id)
			if err != nil || ended.ShadowVersion != nil || ended.ShadowSince != nil || *ended.ActiveVersion != 1 {
				t.Errorf("ended: %+v, %v", ended, err)
			}
		}
	})
}

// wantNoWordOfShadows asks all that an agent's key is answered about a call, and
// wants that it does not learn what is being tried.
func wantNoWordOfShadows(t *testing.T, e *testserver.Org, planID string) {
	t.Helper()
	call := `{"tool":"read","mcp":"files","arguments":{"path":"b.txt"}}`
	for path, answer := range map[string]testserver.Answer{
		"/iap/sdk/enforce": e.Request(t, "POST", "/iap/sdk/enforce", call, testserver.Credentials(e.Agent)...),
		"/iap/enforce": e.Request(t, "POST", "/iap/enforce",
			`{"source":"armorgemini","tool_name":"read","tool_input":{}}`, testserver.Credentials(e.Agent)...),
		"/policies/check-access": e.Request(t, "POST", "/policies/check-access",
			`{"server":"files","tool":"read","arguments":{"path":"b.txt"}}`, testserver.Credentials(e.Agent)...),
		"/iap/plan/{planId}/report": e.Request(t, "GET", "/iap/plan/"+planID+"/report", "",
			testserver.Credentials(e.Agent)...),
	} {
		if answer.Status != http.StatusOK || strings.Contains(strings.ToLower(string(answer.Body)), "shadow") {
			t.Errorf("%s: %d %s; want an answer without the shadow", path, answer.Status, answer.Body)
		}
	}
}

// wantShadow wants the one decision of a plan to tell of a shadow that would have
// denied.
func wantShadow(t *testing.T, e *testserver.Org, planID, policyID string) {
	t.Helper()
	entries, err := e.Owner.LogEntries(t.Context(), e.ID, client.LogFilter{Plan: planID, Decision: "allow"})
	if err != nil || len(entries.Items) != 1 {
		t.Fatalf("%+v, %v; want the one decision", entries.Items, err)
	}
	entry, err := e.Owner.LogEntry(t.Context(), e.ID, entries.Items[0].Index)
	if err != nil {
		t.Fatal(err)
	}
	var payload struct {
		Shadows []struct {
			Policy, Verdict, Active, Rule string
			Version                       int
		}
	}
	if err := json.Unmarshal(entry.Payload, &payload); err != nil || len(payload.Shadows) != 1 {
		t.Fatalf("%s, %v; want one shadow", entry.Payload, err)
	}
	if s := payload.Shadows[0]; s.Policy != policyID || s.Verdict != "deny" || s.Active != "allow" ||
		s.Rule != "reads" || s.Version != 2 {
		t.Errorf("%+v, want a deny of version 2", s)
	}
}

// TestWhatIsRefusedAsAShadow names what was wrong.
func TestWhatIsRefusedAsAShadow(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx := t.Context()
		id := b.ActivePolicy(b.Owner, b.ID, testserver.PolicyText("active", "allow"))
		_, err := b.Owner.StartShadow(ctx, id, 1)
		if client.StatusOf(err) != http.StatusConflict {
			t.Errorf("the active version: %v, want a conflict", err)
		}
		if _, err := b.Owner.StartShadow(ctx, id, 9); client.StatusOf(err) != http.StatusNotFound {
			t.Errorf("no such version: %v, want not found", err)
		}
		for _, name := range []string{"a", "b", "c"} {
			if _, err := b.Owner.StartShadow(ctx, b.Draft(b.Owner, b.ID, name), 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Owner.StartShadow(ctx, b.Draft(b.Owner, b.ID, "d"),
			0); client.StatusOf(err) != http.StatusConflict {
			t.Errorf("a fourth shadow: %v, want a conflict", err)
		}
	})
}
