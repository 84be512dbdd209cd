package decisions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestMisspelledMembersAreRefused: a call is never judged without what its sender wrote under a name with a slip.
func TestMisspelledMembersAreRefused(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, openPolicy)
		token := o.Declared(o.Agent.APIKey, client.PlanRequest{
			Plan:    json.RawMessage(`{"goal":"x","steps":[{"tool":"balance","mcp":"bank"}]}`),
			AgentID: "teller", ExpiresIn: 600,
		})
		for _, s := range surfaces[:3] {
			call := func(more string, value any) m {
				return m{"tool": "balance", "mcp": "bank", more: value}
			}
			// What published clients send, and what is like nothing of ours.
			for _, other := range []string{"description", "org_id", "policy_snapshot", "verbose", "x", "trace"} {
				if _, said := s.ask(t, o, token, call(other, "text")); said["allowed"] != true {
					t.Errorf("%s, %s: %v", s.path, other, said)
				}
			}
			meant := map[string]string{
				"argments": "arguments", "tool_inptu": "tool_input", "parms": "params", "toolInput": "tool_input",
				"sesion_id": "session_id", "sessionId": "session_id", "label": "labels", "agentId": "agent_id",
				"resolved_paths": "resolvedPaths", "mcp_contxt": "mcp_context", "intnet_token": "intent_token",
			}
			if s.arguments {
				for _, slip := range []string{"servername", "serverName", "sever_name"} {
					host := m{slip: "bank", "tool_name": "balance"}
					_, said := s.ask(t, o, token, m{"tool": "balance", "mcp_context": host})
					reason := fmt.Sprint(said["reason"])
					if said["allowed"] != false || !strings.Contains(reason, "did you mean server_name?") {
						t.Errorf("%s, %s: %v", s.path, slip, said)
					}
				}
			}
			if !s.arguments {
				meant = map[string]string{
					"pth": "path", "prof": "proof", "stepIndex": "step_index", "contxt": "context", "tokn": "token",
				}
			}
			// A slip does not hide behind many members that nobody reads.
			many := call("argments", m{"amount": 5})
			for i := range 100 {
				many[fmt.Sprint("a-member-that-nobody-reads-", i)] = i
			}
			if _, said := s.ask(t, o, token, many); said["allowed"] != false {
				t.Errorf("%s, among many: %v", s.path, said)
			}
			delete(many, "argments")
			_, said := s.ask(t, o, token, many)
			if said["allowed"] != false || !strings.Contains(fmt.Sprint(said["reason"]), "too many members") {
				t.Errorf("%s, many: %v", s.path, said)
			}
			for slip, member := range meant {
				_, said := s.ask(t, o, token, call(slip, m{"amount": 5}))
				reason := fmt.Sprint(said["reason"])
				if said["allowed"] != false || !strings.Contains(reason, "did you mean "+member+"?") {
					t.Errorf("%s, %s: %v, want a deny that names %s", s.path, slip, said, member)
				}
			}
		}
	})
}
