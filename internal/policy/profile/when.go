package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// when is the condition of the statement's rule: its names, principal, resource and
// conditions must all hold. In a statement that restricts, each part also holds or
// fails if it is unknown: for the engine, a rule that restricts matches if it fails,
// and a permit does not.
func (s *Statement) when() string {
	parts := []string{s.named(), s.principal()}
	var commands []string
	add := func(c *Condition) {
		if c.Field == bashProgram || c.Field == bashRaw || c.Field == bashRedirect {
			commands = append(commands, s.test(c))
		} else {
			parts = append(parts, s.test(c))
		}
	}
	if c, narrows := s.Resource.condition(); narrows {
		add(&c)
	}
	if s.Action.Type == programAction && !s.Action.everything() {
		add(&Condition{Field: bashProgram, Op: opIn, Values: s.Action.Names})
	}
	for i := range s.Conditions {
		add(&s.Conditions[i])
	}
	if commands != nil {
		parts = append(parts, s.readable(commands))
	}
	return allOf(parts)
}

// allOf joins conditions that must all hold, and leaves out empty ones.
func allOf(parts []string) string {
	parts = slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" })
	if len(parts) == 1 {
		return parts[0]
	}
	for i, part := range parts {
		if strings.Contains(part, "||") {
			parts[i] = "(" + part + ")"
		}
	}
	return strings.Join(parts, " && ")
}

// named is the condition on the names of the action.
func (s *Statement) named() string {
	a := &s.Action
	switch {
	case a.everything() && a.Type == toolAction:
		return ""
	case a.everything() && a.Type != programAction && s.restricts():
		return "!(server in " + list(hosts) + ")"
	case a.everything() && a.Type != programAction:
		return "!(server in " + list(append([]string{unknownServer}, hosts...)) + ")"
	case a.Type == toolAction && s.restricts():
		return "tool.lowerAscii() in " + list(restricted(a.Names))
	case a.Type == programAction && s.restricts():
		return "tool.lowerAscii() in " + list(restricted([]string{"Bash"}))
	case a.Type == toolAction || a.Type == programAction:
		return "server in " + list(hosts)
	case s.restricts():
		return a.elsewhere()
	}
	return "" // a permit's patterns name them
}

// elsewhere matches what the action names on MCP servers.
func (a *Action) elsewhere() string {
	parts := make([]string, len(a.Names))
	for i, name := range a.Names {
		server, tool := name, all
		if a.Type == mcpToolAction {
			server, tool, _ = splitTool(name)
		}
		parts[i] = namedElsewhere(server, tool)
	}
	return strings.Join(parts, " || ")
}

// namedElsewhere matches a server's tool, or all of its tools, in any case, even where
// a call's name joins server and tool. Gemini replaces the middle of a long name by ...
// (earlier by ___), so such a name may be any.
func namedElsewhere(server, tool string) string {
	server, tool = strings.ToLower(server), strings.ToLower(tool)
	if tool == all {
		return fmt.Sprintf("server.lowerAscii() == %s || server == %s && (tool.lowerAscii().startsWith(%s) || tool.contains(\"___\") || tool.contains(\"...\"))",
			quote(server), quote(unknownServer), quote("mcp_"+server+"_"))
	}
	return fmt.Sprintf("server.lowerAscii() == %s && tool.lowerAscii() == %s || server == %s && (tool.lowerAscii() == %s || tool.contains(\"___\") || tool.contains(\"...\"))",
		quote(server), quote(tool), quote(unknownServer), quote("mcp_"+server+"_"+tool))
}

// principal is the condition on the caller. An agent is known by its id; if it gives
// none, by the server of its own tools.
func (s *Statement) principal() string {
	id := quote(s.Principal.ID)
	switch {
	case s.Principal.ID == all || s.Principal.Type == orgPrincipal:
		return ""
	case s.Principal.Type == rolePrincipal && s.restricts():
		return "user.role in [" + id + `, ""]`
	case s.Principal.Type == rolePrincipal:
		return "user.role == " + id
	case s.restricts():
		return fmt.Sprintf(`agent.id in [%s, ""] || server == %s`, id, id)
	}
	return fmt.Sprintf(`agent.id == %s || agent.id == "" && server == %s`, id, id)
}

func quote(text string) string { return strconv.Quote(text) }

func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
