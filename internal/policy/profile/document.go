package profile

import (
	"fmt"
	"slices"

	"writ/internal/policy/document"
)

// Document is the profile as a policy with this name, with one rule for each
// statement, in their order and with their ids.
func (p *Profile) Document(name, orgID string) (*document.Document, []Problem) {
	doc := &document.Document{
		Version:     document.Version,
		Name:        name,
		Description: p.Description,
		Default:     p.Default,
		Rules:       []document.Rule{},
	}
	var problems []Problem
	for i := range p.Statements {
		s := &p.Statements[i]
		if s.Principal.Type == orgPrincipal && s.Principal.ID != all && s.Principal.ID != orgID {
			problems = append(problems, Problem{
				Field:   StatementPath(i) + ".principal.id",
				Message: "must be * or the id of this organization: a profile does not apply to others",
			})
		}
		rule := document.Rule{
			ID:          s.ID,
			Description: shorten(s.Words()),
			Effect:      s.Effect,
			Tools:       s.patterns(),
			When:        s.when(),
		}
		if len(rule.When) > document.MaxCondition || len(rule.Tools) > document.MaxTools {
			problems = append(problems, Problem{
				Field:   StatementPath(i),
				Message: "is too large to be evaluated for every call: split it into several statements",
			})
		}
		doc.Rules = append(doc.Rules, rule)
	}
	return doc, problems
}

// StatementPath is the path of a statement in a profile.
func StatementPath(statement int) string { return fmt.Sprintf("policy.statements[%d]", statement) }

func shorten(text string) string {
	if runes := []rune(text); len(runes) > document.MaxDescription {
		return string(runes[:document.MaxDescription-1]) + "…"
	}
	return text
}

// patterns are the tools of the rule. Those of a permit are the names of its tools; a
// statement that restricts looks at every call, because it ignores case in names.
func (s *Statement) patterns() []document.Pattern {
	if s.restricts() || s.Action.everything() && s.Action.Type != programAction {
		return []document.Pattern{all}
	}
	switch s.Action.Type {
	case toolAction:
		return onAnyServer(permitted(s.Action.Names))
	case programAction:
		return onAnyServer(permitted([]string{"Bash"}))
	}
	var patterns []document.Pattern
	for _, name := range s.Action.Names {
		server, tool := name, all
		if s.Action.Type == mcpToolAction {
			server, tool, _ = splitTool(name)
		}
		if p := document.Pattern(server + "." + tool); !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

func onAnyServer(names []string) []document.Pattern {
	patterns := make([]document.Pattern, len(names))
	for i, name := range names {
		patterns[i] = document.Pattern("*." + name)
	}
	return patterns
}
