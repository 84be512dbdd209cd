package profile

import (
	"slices"
	"strings"

	"writ/internal/node"
)

// DefaultWords say what happens when no statement matches.
func (p *Profile) DefaultWords() string { return "When no rule matches: " + p.Default.String() + "." }

// Words are the statement as a sentence, for the person who confirms it.
func (s *Statement) Words() string {
	var b strings.Builder
	b.WriteString(map[string]string{
		"permit": "Permits ", "forbid": "Forbids ", "require_approval": "Asks for approval of ",
	}[effectWord(s.Effect)])
	b.WriteString(s.Action.words())
	b.WriteString(s.Principal.words())
	joint := " where "
	if c, narrows := s.Resource.condition(); narrows {
		b.WriteString(joint + c.words())
		joint = " and "
	}
	for i := range s.Conditions {
		b.WriteString(joint + s.Conditions[i].words())
		joint = " and "
	}
	b.WriteString(".")
	if _, narrows := s.Resource.condition(); narrows || len(s.Conditions) > 0 || s.Action.Type == programAction {
		if s.restricts() {
			b.WriteString(" Also where that cannot be known.")
			if s.judgesPrograms() {
				b.WriteString(" What scripts and build tools run is not seen.")
			}
		} else {
			b.WriteString(" Not where that cannot be known.")
		}
	}
	return b.String()
}

// judgesPrograms reports whether the statement depends on what a command runs.
func (s *Statement) judgesPrograms() bool {
	return s.Action.Type == programAction && !s.Action.everything() ||
		slices.ContainsFunc(s.Conditions, func(c Condition) bool { return c.Field == bashProgram })
}

func (a *Action) words() string {
	names := node.Words(a.Names)
	switch {
	case a.everything():
		return map[string]string{
			toolAction: "every tool", serverAction: "every tool of MCP servers",
			mcpToolAction: "every tool of MCP servers", programAction: "every command",
		}[a.Type]
	case a.Type == serverAction:
		return "the tools of MCP server " + names
	case a.Type == mcpToolAction:
		return "the MCP tool " + names
	case a.Type == programAction:
		return "commands that run " + names
	}
	return names
}

func (p *Principal) words() string {
	switch {
	case p.ID == all || p.Type == orgPrincipal:
		return ""
	case p.Type == rolePrincipal:
		return " for people whose role is " + p.ID
	}
	return " for the agent " + shown(p.ID)
}

func (c *Condition) words() string {
	switch {
	case c.Op == opWorkspace && c.Bool != nil && !*c.Bool:
		return c.Field + " is outside of the workspace"
	case c.Op == opWorkspace:
		return c.Field + " is within the workspace"
	case c.Field == bashRedirect && *c.Bool:
		return "the command writes files"
	case c.Field == bashRedirect:
		return "the command writes no file"
	}
	verb := map[string]string{
		opEq: "is", opIn: "is", opNotIn: "is not", opMatches: "matches", opNot: "does not match",
		opStarts: "begins with", opFile: "is", opFolder: "is below",
	}[c.Op]
	values := make([]string, len(c.Values))
	for i, value := range c.Values {
		values[i] = shown(value)
	}
	return c.Field + " " + verb + " " + node.Words(values)
}

// shown is text of the profile in a sentence. Everything but plain words is in quotes,
// so that the profile's author cannot continue the sentence.
func shown(text string) string {
	if programName.MatchString(text) {
		return text
	}
	return quote(text)
}
