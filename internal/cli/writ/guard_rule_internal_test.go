package writ

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"writ/client"
)

// TestParseRule: tools of MCP servers and programs are known by how they are written, and what is ambiguous is refused.
func TestParseRule(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]rule{
		"deny web_fetch no uploads":    {effect: "forbid", kind: "tool", name: "web_fetch", note: "no uploads"},
		"allow gemini-cli.read_file":   {effect: "permit", kind: "tool", name: "read_file"},
		"hold mcp__bank__pay_in":       {effect: "require_approval", kind: "mcp_tool", name: "mcp__bank__pay_in"},
		"deny bank.pay_in why":         {effect: "forbid", kind: "mcp_tool", name: "bank.pay_in", note: "why"},
		"deny mcp_github_search":       {effect: "forbid", kind: "mcp_tool", name: "github.search"},
		"deny --program rm it deletes": {effect: "forbid", kind: "bash_program", name: "rm", note: "it deletes"},
		"deny --program=rm":            {effect: "forbid", kind: "bash_program", name: "rm"},
		"deny mcp_github_create_issue": {}, "deny mcp_github": {}, "deny --program": {}, "deny --program=": {},
		"deny": {}, "forbid rm": {}, "": {},
	} {
		for _, args := range [][]string{{words}, strings.Fields(words)} {
			got, err := parseRule(args)
			if got.words = ""; (err == nil) != (want.effect != "") || err == nil && got != want {
				t.Errorf("%q: %+v, %v, want %+v", args, got, err, want)
			}
		}
	}
}

// TestNeutralDefault: a rule changes nothing but what it names, and where nobody can tell it holds.
func TestNeutralDefault(t *testing.T) {
	t.Parallel()
	const none = `{"decision":"deny","matchedPolicy":null,"rule":""}`
	by := func(decision, rule string) string {
		return `{"decision":"` + decision + `","matchedPolicy":{"name":"p"},"rule":"` + rule + `"}`
	}
	for name, c := range map[string]struct {
		agent, others, want string
		known               bool
	}{
		"no policy":                     {none, none, "deny", true},
		"a deny":                        {by("deny", "default"), none, "deny", true},
		"a hold":                        {by("hold", "default"), by("hold", "default"), "hold", true},
		"an allow":                      {by("allow", "default"), by("allow", "default"), "allow", true},
		"an ask":                        {by("ask", "default"), by("ask", "default"), "hold", false},
		"an allow for this agent alone": {by("allow", "default"), none, "hold", false},
		"an ask where others are held":  {by("ask", "default"), by("hold", "default"), "hold", false},
		"a rule about everything":       {by("allow", "all"), by("allow", "all"), "hold", false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var call client.ToolCall
			answer := c.others
			if json.NewDecoder(r.Body).Decode(&call) == nil && call.AgentID == "mine" {
				answer = c.agent
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(answer))
		}))
		got, known, err := neutralDefault(t.Context(), &client.Client{BaseURL: server.URL, APIKey: "k"}, "mine")
		server.Close()
		if err != nil || got != c.want || known != c.known {
			t.Errorf("%s: %s, %v, %v, want %s, %v", name, got, known, err, c.want, c.known)
		}
	}
}
