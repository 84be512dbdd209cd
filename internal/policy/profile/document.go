package profile

import (
	"fmt"

	"writ/internal/policy/document"
)

// Document is the profile as a policy of an organization, one rule a statement, in
// their order and with their ids. Name is the policy's.
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
				Field:   Place(i) + ".principal.id",
				Message: "must be * or the id of this organization: a profile judges no other's calls",
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
				Field: Place(i), Message: "is too large to be judged for every call: split it into several statements",
			})
		}
		doc.Rules = append(doc.Rules, rule)
	}
	return doc, problems
}

// Place is the path to a statement.
func Place(statement int) string { return fmt.Sprintf("policy.statements[%d]", statement) }

func shorten(text string) string {
	if runes := []rune(text); len(runes) > document.MaxDescription {
		return string(runes[:document.MaxDescription-1]) + "…"
	}
	return text
}

// patterns are the names that the rule is found by. A permit is found by the names
// of its tools; what restricts looks at every call, for it compares names without
// case.
func (s *Statement) patterns() []document.Pattern {
	if s.restricts() || s.Action.everything() && s.Action.Type != programAction {
		return []document.Pattern{all}
	}
	var patterns []document.Pattern
	for _, name := range s.Action.Names {
		switch s.Action.Type {
		case serverAction:
			patterns = append(patterns, document.Pattern(name+".*"))
		case mcpToolAction:
			server, tool, _ := splitTool(name)
			patterns = append(patterns, document.Pattern(server+"."+tool))
		}
	}
	switch s.Action.Type {
	case toolAction:
		patterns = onAnyServer(permitted(s.Action.Names))
	case programAction:
		patterns = onAnyServer(permitted([]string{"Bash"}))
	}
	return unique(patterns)
}

func onAnyServer(names []string) []document.Pattern {
	patterns := make([]document.Pattern, len(names))
	for i, name := range names {
		patterns[i] = document.Pattern("*." + name)
	}
	return patterns
}

func unique(patterns []document.Pattern) []document.Pattern {
	seen := map[document.Pattern]bool{}
	var once []document.Pattern
	for _, p := range patterns {
		if !seen[p] {
			seen[p] = true
			once = append(once, p)
		}
	}
	return once
}
