package policies_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// handMade is a profile in which servers, agents, roles and every kind of condition
// matter.
var handMade = strings.NewReplacer("\n", "", "\t",
	"").Replace(`{"schemaVersion":"armor.policy.v1","kind":"PolicyProfile","metadata":{"name":"by hand","description":""},
	"defaults":{"decision":"allow","conflictResolution":"deny_overrides"},"statements":[
	` + handStatement("no-github", "forbid", `{"type":"mcp_server","eq":"github"}`, "agent", "*") + `,
	` + handStatement("ask-slack", "require_approval", `{"type":"mcp_tool","in":["slack.post"]}`, "agent", "*") + `,
	` + handStatement("owners-search-not", "forbid", `{"type":"tool","eq":"WebSearch"}`, "role", "owner") + `,
	` + handStatement("one-agent-lists-not", "forbid", `{"type":"tool","eq":"Glob"}`, "agent", "claude-code") + `,
	` +
	handStatement("no-evil", "forbid", `{"type":"tool","eq":"WebFetch"}`, "agent", "*",
		`{"field":"network.host","op":"in","value":["evil.example"]}`) + `,
	` +
	handStatement("ask-deploy", "require_approval", `{"type":"tool","eq":"Bash"}`, "agent", "*",
		`{"field":"bash.raw","op":"matches","value":"deploy"}`) + `,
	` +
	handStatement("no-redirection", "forbid", `{"type":"tool","eq":"Bash"}`, "agent", "*",
		`{"field":"bash.hasWriteRedirection","op":"eq","value":true}`) + `,
	` +
	handStatement("no-etc", "forbid", `{"type":"tool","in":["Write","Edit"]}`, "agent", "*",
		`{"field":"file.path","op":"starts_with","value":"/etc"}`) + `]}`)

func handStatement(id, effect, action, kind, who string, conditions ...string) string {
	return fmt.Sprintf(`{"id":%q,"effect":%q,"principal":{"type":%q,"id":%q},"action":%s,"resource":{"type":"workspace","scope":"current"},"conditions":[%s]}`,
		id, effect, kind, who, action, strings.Join(conditions, ","))
}

// surfaceCalls are calls as plugins send them, as people ask about them, and what the
// profile says.
var surfaceCalls = []struct {
	source, agent, server, tool, input string
	mcp                                bool // the host says which server it is
	want, rule                         string
}{
	{"armorgemini", "a", "github", "create_issue", `{}`, true, "deny", "no-github"},
	{"armorgemini", "a", "github2", "create_issue", `{}`, true, "allow", "default"},
	{"armorgemini", "a", "slack", "post", `{"text":"x"}`, true, "hold", "ask-slack"},
	{"armorgemini", "a", "slack", "read", `{}`, true, "allow", "default"},
	{"armorgemini", "a", "gemini-cli", "google_web_search", `{"query":"x"}`, false, "deny", "owners-search-not"},
	{"armorclaude", "claude-code", "claude-code", "Glob", `{"pattern":"*"}`, false, "deny", "one-agent-lists-not"},
	{"armorgemini", "gemini-cli", "gemini-cli", "glob", `{"pattern":"*"}`, false, "allow", "default"},
	{"armorclaude", "a", "claude-code", "WebFetch", `{"url":"https://evil.example/x"}`, false, "deny", "no-evil"},
	{"armorclaude", "a", "claude-code", "WebFetch", `{"url":"https://good.example/x"}`, false, "allow", "default"},
	{"armorgemini", "a", "gemini-cli", "run_shell_command", `{"command":"make deploy"}`, false, "hold", "ask-deploy"},
	{"armorcodex", "a", "codex", "exec_command", `{"cmd":"ls > x"}`, false, "deny", "no-redirection"},
	{"armorcodex", "a", "codex", "exec_command", `{"cmd":"ls"}`, false, "allow", "default"},
	{"armorgemini", "a", "gemini-cli", "replace", `{"file_path":"/etc/hosts"}`, false, "deny", "no-etc"},
	{"armorgemini", "a", "gemini-cli", "replace", `{"file_path":"a.go"}`, false, "allow", "default"},
}

// TestOneProfileOnThreeSurfaces: a replay over calls that nothing judged tells what
// enforcement and check-access then say, by the same statement.
func TestOneProfileOnThreeSurfaces(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		w.activeDocument("version: v1\nname: all\ndefault: allow\nrules: []\n")
		enforce := func(i int) m {
			c := surfaceCalls[i]
			body := m{
				"source":     c.source,
				"session_id": "s",
				"agent_id":   c.agent,
				"tool_name":  c.tool,
				"tool_input": json.RawMessage(c.input),
			}
			if c.mcp {
				body["mcp_context"] = m{"server_name": c.server, "tool_name": c.tool}
			}
			status, answer := w.Call("/iap/enforce", testserver.JSON(t, body), w.Gemini()...)
			if status != http.StatusOK {
				t.Fatalf("enforce: %d %v", status, answer)
			}
			return answer
		}
		recorded := make([]string, len(surfaceCalls))
		for i := range surfaceCalls {
			answer := enforce(i)
			if answer["action"] != "allow" {
				t.Fatalf("%s before the profile: %v", surfaceCalls[i].tool, answer)
			}
			recorded[i] = answer["decisionId"].(string)
		}
		proposal := w.Proposed(w.plugin, w.Org, handMade)
		told := w.foretold(proposal)
		if _, err := w.Owner.ConfirmProfile(t.Context(), w.Org, proposal.ID, proposal.Hash); err != nil {
			t.Fatal(err)
		}
		for i, c := range surfaceCalls {
			change, changes := told[recorded[i]]
			if changes != (c.want != "allow") || changes && (change.Drafted != c.want || change.Rule != c.rule) {
				t.Errorf("replay of %s.%s %s: %+v, want %s by %s", c.server, c.tool, c.input, change, c.want, c.rule)
			}
			if answer := enforce(i); answer["action"] != c.want || c.want != "allow" && answer["rule"] != c.rule {
				t.Errorf("enforce %s.%s %s: %v by %v, want %s by %s", c.server, c.tool, c.input, answer["action"],
					answer["rule"], c.want, c.rule)
			}
			got, err := w.plugin.CheckAccess(t.Context(), w.Org, client.ToolCall{
				Server: c.server, Tool: c.tool, Arguments: json.RawMessage(c.input), AgentID: c.agent,
			})
			if err != nil || got.Decision != c.want || c.want != "allow" && got.Rule != c.rule {
				t.Errorf("check %s.%s %s: %+v, %v, want %s by %s", c.server, c.tool, c.input, got, err, c.want, c.rule)
			}
		}
	})
}
