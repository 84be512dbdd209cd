package profile

import (
	"fmt"
	"slices"

	"writ/internal/node"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// ruleList reads the list of rules that Codex, Copilot and older plugins write:
// {"rules": [{"id", "action", "tool"}]}. There the first rule that matches decides,
// and what no rule names is allowed; in a profile the strictest statement decides. A
// list is accepted if both readings agree, and refused if an earlier rule is an
// exception to a later one. Rules about arguments or classes of data are refused too,
// because a profile expresses them differently.
func (r *reader) ruleList(v *node.Value) *Profile {
	m := v.Members("rules")
	p := &Profile{Name: defaultName, Default: verdict.Allow}
	seen := map[string]int{}
	for i, item := range m.Need("rules").Items(MaxStatements) {
		s := r.rule(item, i)
		if first, ok := seen[s.ID]; ok {
			item.Problem("must have an id of its own: rules[%d] has it too", first)
		}
		seen[s.ID] = i
		for j := range p.Statements {
			if earlier := &p.Statements[j]; s.Action.Names != nil && s.Effect < earlier.Effect && overlap(earlier, &s) {
				item.Problem("is stricter than rules[%d], which comes before it as an exception: in a profile the strictest rule decides, so the exception would have no effect", j)
			}
		}
		p.Statements = append(p.Statements, s)
	}
	return p
}

func (r *reader) rule(v *node.Value, i int) Statement {
	m := v.Members("id", "action", "tool", "dataClass", "params", "anyParam", "scope")
	s := Statement{
		ID: fmt.Sprintf("policy%d", i+1), Principal: Principal{agentPrincipal, all},
		Resource: Resource{Type: workspaceResource, Scope: currentScope}, Action: Action{Type: toolAction},
	}
	if id := m.Get("id"); id != nil {
		s.ID = document.ReadRuleID(id)
	}
	s.Effect = map[string]verdict.Verdict{
		"allow": verdict.Allow, "deny": verdict.Deny, "require_approval": verdict.Hold,
	}[m.Need("action").OneOf("allow", "deny", "require_approval")]
	if tool := m.Need("tool"); tool != nil {
		s.Action.Names = r.names(toolAction, []*node.Value{tool})
	}
	for _, name := range []string{"dataClass", "params", "anyParam", "scope"} {
		m.Get(name).Problem("is not supported in a list of rules: write a profile (%s) with a condition, or a policy",
			SchemaVersion)
	}
	return s
}

// overlap reports whether both statements are about some tool.
func overlap(a, b *Statement) bool {
	if a.Action.Names == nil || a.Action.everything() || b.Action.everything() {
		return a.Action.Names != nil
	}
	names := restricted(a.Action.Names)
	return slices.ContainsFunc(restricted(b.Action.Names), func(name string) bool {
		return slices.Contains(names, name)
	})
}
