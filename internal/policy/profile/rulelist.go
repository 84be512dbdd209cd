package profile

import (
	"fmt"

	"writ/internal/policy/document/node"
	"writ/internal/verdict"
)

// Codex, Copilot and older plugins write a list of rules: {"rules": [{"id",
// "action", "tool"}]}. There the first rule that matches decides and what no rule
// names is allowed; in a profile the strictest decides. A list is taken where both
// readings agree, and refused where an earlier rule is meant to be an exception
// from a later one. What looks into arguments or classes of data is refused too:
// a profile has words of its own for it.
func (r *reader) ruleList(v *node.Value) *Profile {
	m := v.Members("rules")
	p := &Profile{Name: defaultName, Default: verdict.Allow}
	rules := m.Need("rules")
	if rules == nil {
		return p
	}
	seen := map[string]int{}
	for i, item := range rules.Items(MaxStatements) {
		s := r.rule(item, i)
		if first, ok := seen[s.ID]; ok {
			item.Problem("must have an id of its own: rules[%d] has it too", first)
		}
		seen[s.ID] = i
		for j := range p.Statements {
			if earlier := &p.Statements[j]; s.Action.Names != nil && s.Effect < earlier.Effect && overlap(earlier, &s) {
				item.Problem("is stricter than rules[%d], which comes before it and would be an exception: in a profile the strictest rule decides, so that one would do nothing", j)
			}
		}
		p.Statements = append(p.Statements, s)
	}
	return p
}

func (r *reader) rule(v *node.Value, place int) Statement {
	m := v.Members("id", "action", "tool", "dataClass", "params", "anyParam", "scope")
	s := Statement{
		ID: fmt.Sprintf("policy%d", place+1), Principal: Principal{agentPrincipal, all},
		Resource: Resource{Type: workspaceResource, Scope: currentScope}, Action: Action{Type: toolAction},
	}
	if id := m.Get("id"); id != nil {
		s.ID = r.id(id)
	}
	if action := m.Need("action"); action != nil {
		s.Effect = map[string]verdict.Verdict{
			"allow": verdict.Allow, "deny": verdict.Deny, "require_approval": verdict.Hold,
		}[action.OneOf("allow", "deny", "require_approval")]
	}
	if tool := m.Need("tool"); tool != nil {
		s.Action.Names = r.names(toolAction, []*node.Value{tool})
	}
	for _, name := range []string{"dataClass", "params", "anyParam", "scope"} {
		if member := m.Get(name); member != nil {
			member.Problem("is not taken from a list of rules: write a profile (%s) with a condition, or a policy",
				SchemaVersion)
		}
	}
	return s
}

// overlap reports whether some call is of both statements' tools.
func overlap(a, b *Statement) bool {
	if a.Action.Names == nil || a.Action.everything() || b.Action.everything() {
		return a.Action.Names != nil
	}
	names := map[string]bool{}
	for _, name := range restricted(a.Action.Names) {
		names[name] = true
	}
	for _, name := range restricted(b.Action.Names) {
		if names[name] {
			return true
		}
	}
	return false
}
