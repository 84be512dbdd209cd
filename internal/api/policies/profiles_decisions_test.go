package policies_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// profileCalls are calls as plugins send them, and what three templates say.
var profileCalls = []struct{ source, server, tool, input, architect, velocity, readOnly string }{
	{"armorgemini", "gemini-cli", "read_file", `{"file_path":"src/a.go"}`, "allow", "allow", "allow"},
	{"armorgemini", "gemini-cli", "read_many_files", `{"paths":[".env"]}`, "allow", "deny", "allow"},
	{"armorclaude", "claude-code", "Read", `{"file_path":"/srv/.env"}`, "allow", "deny", "allow"},
	{"armorgemini", "gemini-cli", "grep_search", `{"pattern":"x","path":"src"}`, "allow", "allow", "allow"},
	{"armorgemini", "gemini-cli", "replace", `{"file_path":"src/a.go"}`, "allow", "allow", "deny"},
	{"armorgemini", "gemini-cli", "replace", `{"file_path":"/etc/hosts"}`, "hold", "deny", "deny"},
	{"armorclaude", "claude-code", "Write", `{"file_path":"../x"}`, "hold", "deny", "deny"},
	{"armorcodex", "codex", "apply_patch", `{"input":"*** Begin Patch"}`, "hold", "deny", "deny"},
	{"armorgemini", "gemini-cli", "run_shell_command", `{"command":"ls"}`, "hold", "allow", "deny"},
	{"armorgemini", "gemini-cli", "run_shell_command", `{"command":"ls; sudo rm x"}`, "deny", "deny", "deny"},
	{"armorcodex", "codex", "exec_command", `{"cmd":"rm -rf /"}`, "deny", "deny", "deny"},
	{"armorclaude", "claude-code", "Bash", `{"command":"git push --force"}`, "deny", "deny", "deny"},
	{"armorclaude", "claude-code", "Bash", `{"command":["ls"]}`, "deny", "deny", "deny"},
	{"armorclaude", "claude-code", "Bash", `{}`, "deny", "deny", "deny"},
	{"armorgemini", "gemini-cli", "google_web_search", `{"query":"x"}`, "allow", "allow", "deny"},
	{"armorgemini", "gemini-cli", "web_fetch", `{"prompt":"https://a.b"}`, "hold", "allow", "deny"},
	{"armorgemini", "unknown", "mcp_github_create_issue", `{}`, "hold", "allow", "deny"},
	{"", "github", "create_issue", `{}`, "hold", "allow", "deny"},
}

// TestAProfileDecidesEverywhereAlike: the same profile gives the same answers where
// plugins ask and where people look.
func TestAProfileDecidesEverywhereAlike(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		for place, name := range []string{"architect", "velocity-machine", "strict-read-only"} {
			template, err := w.plugin.ProfileTemplate(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			proposal := w.Proposed(w.plugin, w.Org, string(template.Policy))
			if _, err := w.Owner.ConfirmProfile(t.Context(), w.Org, proposal.ID, proposal.Hash); err != nil {
				t.Fatal(err)
			}
			for _, c := range profileCalls {
				want := []string{c.architect, c.velocity, c.readOnly}[place]
				body := fmt.Sprintf(`{"source":%q,"session_id":"s","tool_name":%q,"tool_input":%s}`, c.source, c.tool,
					c.input)
				if c.source == "" {
					body = fmt.Sprintf(`{"source":"armorgemini","session_id":"s","tool_name":"mcp_%[2]s_%[3]s","tool_input":%[1]s,"mcp_context":{"server_name":%[2]q,"tool_name":%[3]q}}`, c.input, c.server, c.tool)
				}
				status, answer := w.Call("/iap/enforce", body, w.Gemini()...)
				if status != 200 || answer["action"] != want || answer["allowed"] != (want == "allow") {
					t.Errorf("%s, enforce %s.%s %s: %d %v %v, want %s", name, c.server, c.tool, c.input, status,
						answer["action"], answer["reason"], want)
				}
				call := client.ToolCall{Server: c.server, Tool: c.tool, Arguments: json.RawMessage(c.input)}
				for who, caller := range map[string]*client.Client{
					"the plugin": w.plugin, "the owner": w.Owner.Client,
				} {
					got, err := caller.CheckAccess(t.Context(), w.Org, call)
					if err != nil || got.Decision != want || got.Rule != answer["rule"] {
						t.Errorf("%s, %s checks %s.%s %s: %+v, %v, want %s by %v", name, who, c.server, c.tool, c.input,
							got, err, want, answer["rule"])
					}
				}
			}
		}
	})
}

// TestProfileTemplates: every template can be staged as it is given.
func TestProfileTemplates(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		all, err := w.plugin.ProfileTemplates(t.Context())
		if err != nil || len(all) != 8 {
			t.Fatalf("%d templates, %v", len(all), err)
		}
		for _, listed := range all {
			one, err := w.Owner.ProfileTemplate(t.Context(), listed.Name)
			if err != nil || string(one.Policy) != string(listed.Policy) || one.Description == "" {
				t.Errorf("%s: %+v, %v", listed.Name, one, err)
			}
			staged, err := w.plugin.StageProfile(t.Context(), "", one.Policy)
			if err != nil || string(staged.Policy) != string(one.Policy) {
				t.Errorf("%s, staged: %s, %v", listed.Name, staged.Policy, err)
			}
		}
	})
}

// TestProfilesTellSDKsWhatIsSettled: a plan's tools that the profile settles are
// told as such; only those whose arguments matter need the server.
func TestProfilesTellSDKsWhatIsSettled(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		template, err := w.plugin.ProfileTemplate(t.Context(), "velocity-machine")
		if err != nil {
			t.Fatal(err)
		}
		proposal := w.Proposed(w.plugin, w.Org, string(template.Policy))
		if _, err := w.Owner.ConfirmProfile(t.Context(), w.Org, proposal.ID, proposal.Hash); err != nil {
			t.Fatal(err)
		}
		minted := w.Mint(`{"steps":[{"action":"Glob","tool":"Glob","mcp":"claude-code"},{"action":"Bash","tool":"Bash","mcp":"claude-code"}],"metadata":{"goal":"g","source":"claude-code-registered"}}`)
		told := minted["policy_validation"].(map[string]any)
		if got := fmt.Sprint(told["allowed_tools"], told["denied_tools"]); got != "[Glob] [Bash]" {
			t.Errorf("allowed and denied: %s (%v)", got, told["denied_reasons"])
		}
	})
}

// TestAPlanDoesNotPutToolsWhereTheyArePermitted: a permit of a server's tools is not
// won by a plan that says the shell is one of them.
func TestAPlanDoesNotPutToolsWhereTheyArePermitted(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		permit := strings.NewReplacer(`"forbid"`, `"permit"`, `"decision":"allow"`, `"decision":"deny"`,
			`{"type":"tool","eq":"Bash"}`,
			`{"type":"mcp_server","eq":"github"}`).Replace(testserver.Profile("x", "Bash"))
		proposal := w.Proposed(w.plugin, w.Org, permit)
		if _, err := w.Owner.ConfirmProfile(t.Context(), w.Org, proposal.ID, proposal.Hash); err != nil {
			t.Fatal(err)
		}
		key := w.AgentKey(w.Owner, w.Org).APIKey
		token := w.Declared(key, client.PlanRequest{
			Plan:      json.RawMessage(`{"goal":"x","steps":[{"action":"Bash","mcp":"github"},{"action":"mcp__github__list"}]}`),
			AgentID:   "a",
			ExpiresIn: 600,
		})
		for tool, want := range map[string]string{"Bash": "deny", "mcp__github__list": "allow"} {
			body := fmt.Sprintf(`{"source":"armorclaude","agent_id":"a","tool_name":%q,"tool_input":{"command":"rm -rf x"},"intent_token":%q}`, tool, token.JWT)
			answer := w.Request(t, "POST", "/iap/enforce", body, testserver.Credentials(w.Public.WithKey(key))...)
			if got := w.Members(tool, answer)["action"]; got != want {
				t.Errorf("%s: %v (%s), want %s", tool, got, answer.Body, want)
			}
		}
	})
}
