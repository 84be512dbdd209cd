package policies_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/policy/document"
	"writ/internal/policy/policytest"
	"writ/internal/testserver"
	"writ/internal/toolcall"
)

// TestDecisionsOverHTTP asks a server about every case of the corpus that it can
// be asked about. It must decide as the engine alone does.
func TestDecisionsOverHTTP(t *testing.T) {
	t.Parallel()
	cases, err := policytest.Cases("../../../testdata/decisions")
	if err != nil {
		t.Fatal(err)
	}
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		stored, asked := map[*policytest.Suite]string{}, 0
		for _, c := range cases {
			if !c.Sendable() {
				continue
			}
			asked++
			id := stored[c.Suite]
			if id == "" {
				id = storeSuite(b, c.Suite)
				stored[c.Suite] = id
			}
			var got client.Access
			body := map[string]any{"policyId": id, "call": wireCall(c.Test.Call)}
			if err := b.Owner.Call(t.Context(), http.MethodPost, "/policies/simulate", nil, body, &got); err != nil {
				t.Errorf("%s: %v", c.Name(), err)
				continue
			}
			want := c.Test.Want
			if got.Decision != want.Decision.String() || want.Rule != "" && got.Rule != want.Rule ||
				!strings.Contains(got.Reason, want.Reason) {
				t.Errorf("%s: %s by %q (%s), want %s by %q (%s)", c.Name(), got.Decision, got.Rule, got.Reason,
					want.Decision, want.Rule, want.Reason)
			}
		}
		if asked < 300 {
			t.Errorf("asked about %d cases, want at least 300", asked)
		}
	})
}

// storeSuite stores the policy of a suite as it is written in JSON.
func storeSuite(b *testserver.Org, s *policytest.Suite) (id string) {
	b.T.Helper()
	made, err := b.Owner.ImportPolicy(b.T.Context(), b.ID, client.JSONDocument,
		string(document.RenderJSON(s.Policies[0].Document())))
	if err != nil {
		b.T.Fatalf("%s: %v", s.File, err)
	}
	return made.ID
}

// wireCall is a call as it is sent.
func wireCall(call *toolcall.Call) map[string]any {
	wire := map[string]any{
		"server": call.Server, "tool": call.Tool, "arguments": exactNumbers(call.Args), "agentId": call.Agent.ID,
		"agentName": call.Agent.Name, "agentStatus": call.Agent.Status,
		"session": map[string]any{
			"id":      call.Session.ID,
			"calls":   call.Session.Calls,
			"costUsd": call.Session.CostUSD,
			"tokens":  call.Session.Tokens,
		},
		"intent": map[string]any{
			"planId":   call.Intent.PlanID,
			"goal":     call.Intent.Goal,
			"step":     call.Intent.Step,
			"declared": call.Intent.Declared,
		},
	}
	if call.Environment != "" {
		wire["environment"] = call.Environment
	}
	if call.Labels != nil {
		wire["labels"] = call.Labels
	}
	if call.ResolvedPaths != nil {
		wire["resolvedPaths"] = call.ResolvedPaths
	}
	return wire
}

// exactNumbers keeps 1.0 from becoming 1 on its way.
func exactNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		object := map[string]any{}
		for name, member := range v {
			object[name] = exactNumbers(member)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = exactNumbers(item)
		}
		return list
	case float64:
		text, err := json.Marshal(v)
		if err == nil && !strings.ContainsAny(string(text), ".eE") {
			return json.RawMessage(string(text) + ".0")
		}
	}
	return value
}
