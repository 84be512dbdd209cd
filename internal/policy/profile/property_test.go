package profile_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/profile"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// drawn is what a profile is drawn from: parts that go together.
var drawn = []struct {
	action map[string]any
	fields []string
}{
	{map[string]any{"type": "tool", "eq": "Bash"}, []string{"bash.program", "bash.raw", "tool.name"}},
	{map[string]any{"type": "tool", "in": []string{"Read", "Write", "replace"}}, []string{"file.path", "tool.name"}},
	{map[string]any{"type": "tool", "eq": "WebFetch"}, []string{"network.host"}},
	{map[string]any{"type": "tool", "eq": "*"}, []string{"mcp.server", "tool.name"}},
	{map[string]any{"type": "mcp_tool", "in": []string{"mcp__github__x", "slack.*"}}, []string{"mcp.server"}},
	{map[string]any{"type": "bash_program", "in": []string{"rm", "git"}}, []string{"bash.raw"}},
}

// plainValues are values that a field takes as they are.
var plainValues = map[string][]string{
	"bash.program": {"rm", "git", "a.out"}, "tool.name": {"Bash", "read_file", "github.x"},
	"mcp.server": {"github", "slack-2"}, "network.host": {"a.b", "Example.com"},
}

func drawCondition(t *rapid.T, field string) map[string]any {
	op := rapid.SampledFrom([]string{"eq", "in", "not_in"}).Draw(t, "op")
	texts := rapid.StringMatching(`[ -~äß€]{1,40}`)
	if plain := plainValues[field]; plain != nil {
		texts = rapid.SampledFrom(plain)
	}
	if op == "eq" {
		return map[string]any{"field": field, "op": op, "value": texts.Draw(t, "value")}
	}
	return map[string]any{"field": field, "op": op, "value": rapid.SliceOfN(texts, 1, 4).Draw(t, "values")}
}

func drawProfile(t *rapid.T) []byte {
	words := rapid.StringMatching(`[A-Za-zäß€"'\\:#{}%@!&*|>-][ -~\n\täß€]{0,60}`)
	statements := []map[string]any{}
	for i := range rapid.IntRange(0, 4).Draw(t, "statements") {
		parts := rapid.SampledFrom(drawn).Draw(t, "parts")
		conditions := []map[string]any{}
		for range rapid.IntRange(0, 2).Draw(t, "conditions") {
			conditions = append(conditions, drawCondition(t, rapid.SampledFrom(parts.fields).Draw(t, "field")))
		}
		statements = append(statements, map[string]any{
			"id":     "s" + string(rune('a'+i)),
			"effect": rapid.SampledFrom([]string{"permit", "forbid", "require_approval"}).Draw(t, "effect"),
			"principal": map[string]any{
				"type": "agent", "id": rapid.SampledFrom([]string{"*", "claude-code", `a"b\c`}).Draw(t, "principal"),
			},
			"action": parts.action, "resource": map[string]any{"type": "workspace", "scope": "current"},
			"conditions": conditions,
		})
	}
	text, err := json.Marshal(map[string]any{
		"schemaVersion": "armor.policy.v1", "kind": "PolicyProfile",
		"metadata": map[string]any{
			"name":        rapid.StringMatching(`[!-~äß€]([ -~äß€]{0,40}[!-~äß€])?`).Draw(t, "name"),
			"description": words.Draw(t, "description"),
		},
		"defaults": map[string]any{
			"decision":           rapid.SampledFrom([]string{"allow", "deny", "hold"}).Draw(t, "default"),
			"conflictResolution": "deny_overrides",
		},
		"statements": statements,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEveryProfileThatIsTakenCanBeJudged draws profiles: whatever is in their
// texts, their form is stable, and the policy that is stored is the one that was
// made, compiles, and answers.
func TestEveryProfileThatIsTakenCanBeJudged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := drawProfile(t)
		p, problems := profile.Parse(text)
		if problems != nil {
			t.Fatalf("%s: %v", text, problems)
		}
		form, err := p.Form()
		if err != nil {
			t.Fatal(err)
		}
		again, problems := profile.Parse(form)
		if problems != nil {
			t.Fatalf("its form: %v", problems)
		}
		if second, _ := again.Form(); string(second) != string(form) {
			t.Fatalf("two forms:\n%s\n%s", form, second)
		}
		doc, problems := p.Document("profile "+p.Name, orgID)
		if problems != nil {
			t.Fatalf("its document: %v", problems)
		}
		stored, err := document.Parse(document.Render(doc), document.YAML)
		if err != nil {
			t.Fatalf("its document is not read again: %v\n%s", err, document.Render(doc))
		}
		if diff := cmp.Diff(document.RenderJSON(doc), document.RenderJSON(stored)); diff != "" {
			t.Fatalf("what is stored differs (-made +stored):\n%s", diff)
		}
		policy, wrong := engine.Compile(stored)
		if len(wrong) > 0 {
			t.Fatalf("it does not compile: %v\n%s", wrong, document.Render(doc))
		}
		nothing := engine.NewSet([]engine.Active{
			{ID: "p", Policy: policy},
		}).Evaluate(&toolcall.Call{Server: "local", Tool: "Bash"}, nil)
		for i := range p.Statements {
			if forbidsCommands(&p.Statements[i]) && nothing.Verdict != verdict.Deny {
				t.Fatalf("a command that is not given is %s\n%s", nothing.Verdict, document.Render(doc))
			}
		}
	})
}

// forbidsCommands reports whether a statement forbids Bash by conditions on the
// command alone, so that it must catch a call that gives none.
func forbidsCommands(s *profile.Statement) bool {
	for _, c := range s.Conditions {
		if c.Field == "tool.name" {
			return false
		}
	}
	return s.Effect == verdict.Deny && len(s.Conditions) > 0 && s.Action.Names[0] == "Bash"
}
