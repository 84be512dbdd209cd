package profile

import (
	"regexp"
	"slices"
	"strings"

	"writ/internal/policy/document"
	"writ/internal/policy/document/node"
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

var statementID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (r *reader) statements(p *Profile, v *node.Value) {
	seen := map[string]int{}
	for i, item := range v.Items(MaxStatements) {
		s := r.statement(item)
		if first, ok := seen[s.ID]; ok && s.ID != "" {
			item.Problem("must have an id of its own: statements[%d] has it too", first)
		} else {
			seen[s.ID] = i
		}
		p.Statements = append(p.Statements, s)
	}
}

func (r *reader) statement(v *node.Value) Statement {
	m := v.Members("id", "effect", "principal", "action", "resource", "conditions")
	var s Statement
	if id := m.Need("id"); id != nil {
		s.ID = r.id(id)
	}
	if effect := m.Need("effect"); effect != nil {
		s.Effect = effects[effect.OneOf(effectWords...)]
	}
	if principal := m.Need("principal"); principal != nil {
		s.Principal = r.principal(principal)
	}
	if action := m.Need("action"); action != nil {
		s.Action = r.action(action)
	}
	if resource := m.Need("resource"); resource != nil {
		s.Resource = r.resource(resource)
		if c, narrows := s.Resource.condition(); narrows {
			s.Action.requireField(c.Field, resource)
		}
	}
	if conditions := m.Need("conditions"); conditions != nil {
		for _, item := range conditions.Items(MaxConditions) {
			c := r.condition(item)
			s.Action.requireField(c.Field, item)
			s.Conditions = append(s.Conditions, c)
		}
	}
	return s
}

func (r *reader) id(v *node.Value) string {
	text, ok := v.Text()
	switch {
	case !ok:
	case text == document.DefaultRule:
		v.Problem("must not be %q: the profile's default is named so", text)
	case len(text) > document.MaxRuleID || !statementID.MatchString(text):
		v.Problem("must be 1 to %d letters, digits, dots, dashes and underscores, the first a letter or digit",
			document.MaxRuleID)
	default:
		return text
	}
	return ""
}

func (r *reader) principal(v *node.Value) Principal {
	m := v.Members("type", "id")
	var p Principal
	if kind := m.Need("type"); kind != nil {
		p.Type = kind.OneOf(agentPrincipal, userPrincipal, orgPrincipal, rolePrincipal)
	}
	id := m.Need("id")
	if id == nil {
		return p
	}
	p.ID = r.label(id)
	switch {
	case p.ID == all || p.ID == "":
	case p.Type == userPrincipal:
		id.Problem("must be *: an agent says itself whom it works for, so a statement about one person would not hold; " +
			"write a policy and bind it to the member instead")
	case p.Type == rolePrincipal && !slices.Contains(roles, p.ID):
		id.Problem("must be *, owner, admin, approver, member or viewer")
	}
	return p
}

// roles are those that people have in an organization.
var roles = []string{"owner", "admin", "approver", "member", "viewer"}

func (r *reader) action(v *node.Value) Action {
	m := v.Members("type", "eq", "in")
	var a Action
	if kind := m.Need("type"); kind != nil {
		a.Type = kind.OneOf(toolAction, serverAction, mcpToolAction, programAction)
	}
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
		items := list.Items(MaxNames)
		if list.Node().Kind == node.List && len(list.Node().Items) == 0 {
			list.Problem("must name at least one")
		}
		a.Names = r.names(a.Type, items)
	}
	return a
}

// names are the names of an action, or none where one of them is not known.
func (r *reader) names(kind string, items []*node.Value) []string {
	var names []string
	before := len(r.problems)
	for _, item := range items {
		name := r.label(item)
		if len(r.problems) == before && kind != "" {
			if problem := checkName(kind, name); problem != "" {
				item.Problem("%s", problem)
				before = len(r.problems) // and see what is wrong with the others
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

// checkName says what is wrong with a name of a type, if anything is.
func checkName(kind, name string) string {
	if name == all {
		return ""
	}
	switch kind {
	case toolAction:
		if find(name) == nil {
			return "is no tool of Gemini CLI, Claude Code or Codex that is known here; " +
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
		return "is no MCP server: the agent's own tools stand there; use the type tool"
	}
	return ""
}

func checkProgram(name string) string {
	if !programName.MatchString(name) {
		return "must be the name of a program, without its folder and its arguments"
	}
	return ""
}

var toolPart = regexp.MustCompile(`^(\*|[^\s*]+)$`)

// splitTool is the server and the tool of a name: mcp__github__create_issue, or
// github.create_issue. Gemini's mcp_github_create_issue does not tell where the
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
