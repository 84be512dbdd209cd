package profile

import (
	"regexp"
	"slices"
	"strings"

	"writ/internal/node"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// The effects of statements.
var (
	effects = map[string]verdict.Verdict{
		"permit": verdict.Allow, "forbid": verdict.Deny, "require_approval": verdict.Hold,
	}
	effectWords = []string{"permit", "forbid", "require_approval"}
)

func effectWord(v verdict.Verdict) string {
	for _, word := range effectWords {
		if effects[word] == v {
			return word
		}
	}
	return "forbid"
}

func (r *reader) statements(v *node.Value) (statements []Statement) {
	seen := map[string]int{}
	for i, item := range v.Items(MaxStatements) {
		s := r.statement(item)
		if first, ok := seen[s.ID]; ok && s.ID != "" {
			item.Problem("must have an id of its own: statements[%d] has it too", first)
		} else {
			seen[s.ID] = i
		}
		statements = append(statements, s)
	}
	return statements
}

func (r *reader) statement(v *node.Value) Statement {
	m := v.Members("id", "effect", "principal", "action", "resource", "conditions")
	s := Statement{
		ID:        document.ReadRuleID(m.Need("id")),
		Effect:    effects[m.Need("effect").OneOf(effectWords...)],
		Principal: readPrincipal(m.Need("principal")),
		Action:    r.action(m.Need("action")),
		Resource:  readResource(m.Need("resource")),
	}
	if c, narrows := s.Resource.condition(); narrows {
		s.Action.requireField(c.Field, m.Get("resource"))
	}
	for _, item := range m.Need("conditions").Items(MaxConditions) {
		c := readCondition(item)
		s.Action.requireField(c.Field, item)
		s.Conditions = append(s.Conditions, c)
	}
	return s
}

func readPrincipal(v *node.Value) Principal {
	m := v.Members("type", "id")
	p := Principal{
		Type: m.Need("type").OneOf(agentPrincipal, userPrincipal, orgPrincipal, rolePrincipal),
		ID:   readLabel(m.Need("id")),
	}
	id := m.Get("id")
	switch {
	case p.ID == all || p.ID == "":
	case p.Type == userPrincipal:
		id.Problem("must be *: the agent itself says which person it works for, so a statement about one person could be evaded; " +
			"write a policy and bind it to the member instead")
	case p.Type == rolePrincipal && !slices.Contains(roles, p.ID):
		id.Problem("must be *, owner, admin, approver, member or viewer")
	}
	return p
}

var roles = []string{"owner", "admin", "approver", "member", "viewer"}

func (r *reader) action(v *node.Value) Action {
	m := v.Members("type", "eq", "in")
	a := Action{Type: m.Need("type").OneOf(toolAction, serverAction, mcpToolAction, programAction)}
	one, list := m.Get("eq"), m.Get("in")
	switch {
	case one == nil && list == nil && v.Node().Kind == node.Map:
		v.Problem("must have eq or in")
	case one != nil && list != nil:
		v.Problem("must have one of eq and in, not both")
	case one != nil:
		a.Names = r.names(a.Type, []*node.Value{one})
	case list != nil:
		a.List = true
		a.Names = r.names(a.Type, list.NeedItems(MaxNames, "must name at least one"))
	}
	return a
}

// names are the names of an action, or none if one of them is not known.
func (r *reader) names(kind string, items []*node.Value) []string {
	var names []string
	before := len(r.problems)
	for _, item := range items {
		name := readLabel(item)
		if len(r.problems) == before && kind != "" {
			if problem := checkName(kind, name); problem != "" {
				item.Problem("%s", problem)
				before = len(r.problems) // check the others too
				name = ""
			}
		}
		if name != "" {
			names = append(names, name)
		}
	}
	if kind == "" || len(names) != len(items) {
		return nil
	}
	return names
}

var (
	serverName  = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	programName = regexp.MustCompile(`^[A-Za-z0-9._+-]+$`)
)

// checkName is what is wrong with a name of a type, if anything.
func checkName(kind, name string) string {
	if name == all {
		return ""
	}
	switch kind {
	case toolAction:
		if find(name) == nil {
			return "is not a known tool of Gemini CLI, Claude Code or Codex; " +
				"use the type mcp_tool for a tool of an MCP server, and bash_program for a program"
		}
	case serverAction:
		return checkServer(name)
	case mcpToolAction:
		if _, _, ok := splitTool(name); !ok {
			return "must be mcp__server__tool or server.tool; a tool of * is every tool of the server"
		}
	case programAction:
		return checkProgram(name)
	}
	return ""
}

func checkServer(name string) string {
	switch {
	case !serverName.MatchString(name):
		return "must be the name of an MCP server: letters, digits, dashes and underscores"
	case slices.Contains(hosts, name) || name == unknownServer:
		return "is not an MCP server but the name of an agent; use the type tool for its own tools"
	}
	return ""
}

func checkProgram(name string) string {
	if !programName.MatchString(name) {
		return "must be the name of a program, without its folder and arguments"
	}
	return ""
}

var toolPart = regexp.MustCompile(`^(\*|[^\s*]+)$`)

// splitTool splits a name into server and tool: mcp__github__create_issue, or
// github.create_issue. Gemini's mcp_github_create_issue does not show where the
// server ends.
func splitTool(name string) (server, tool string, ok bool) {
	if rest, marked := strings.CutPrefix(name, "mcp__"); marked {
		server, tool, ok = strings.Cut(rest, "__")
	} else {
		server, tool, ok = strings.Cut(name, ".")
	}
	return server, tool, ok && checkServer(server) == "" && toolPart.MatchString(tool) &&
		!strings.ContainsFunc(tool, node.Invisible)
}
