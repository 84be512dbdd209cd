package profile

import (
	"path"
	"strings"

	"writ/internal/node"
)

// The types of resources.
const (
	workspaceResource = "workspace"
	fileResource      = "file"
	folderResource    = "directory"
	networkResource   = "network"
	serverResource    = "mcp_server"
	secretResource    = "secret"
)

// currentScope is the only workspace: that of the call.
const currentScope = "current"

// readResource reads what a statement is about. It refuses a member that the type
// does not have, because its author expects it to narrow the statement.
func readResource(v *node.Value) Resource {
	m := v.Members("type", "scope", "path", "host", "name")
	var res Resource
	kind := m.Need("type")
	if kind == nil {
		return res
	}
	res.Type = kind.OneOf(workspaceResource, fileResource, folderResource, networkResource, serverResource,
		secretResource)
	needs := map[string]string{
		fileResource: "path", folderResource: "path", networkResource: "host", serverResource: "name",
	}[res.Type]
	for _, member := range []struct {
		name string
		into *string
	}{{"path", &res.Path}, {"host", &res.Host}, {"name", &res.Name}} {
		value := m.Get(member.name)
		switch {
		case member.name == needs && value == nil:
			m.Need(member.name)
		case value == nil || res.Type == "":
		case member.name != needs:
			value.Problem("is not a member of a resource of type %s", res.Type)
		default:
			*member.into = readLabel(value)
			if problem := res.check(); problem != "" {
				value.Problem("%s", problem)
			}
		}
	}
	if scope := m.Get("scope"); scope != nil {
		res.Scope = scope.OneOf(currentScope)
	}
	if res.Type == secretResource {
		kind.Problem("cannot be recognized in a call: name the files with a condition on file.path instead")
	}
	return res
}

// check is what is wrong with the name of a resource, if anything.
func (res *Resource) check() string {
	switch {
	case res.Path != "" && (strings.ContainsAny(res.Path, "*?[]{}$~\\`%") || path.Clean(res.Path) != res.Path):
		return "must be a plain path without patterns, .. or ~; use a condition with matches for a pattern"
	case res.Host != "" && !hostName.MatchString(res.Host):
		return "must be a host name; use a condition with matches for a pattern"
	case res.Name != "":
		return checkServer(res.Name)
	}
	return ""
}

// condition is the resource as one more condition, if it narrows the statement. Every
// call is in the current workspace.
func (res *Resource) condition() (c Condition, narrows bool) {
	switch res.Type {
	case fileResource:
		return Condition{Field: filePath, Op: opFile, Values: []string{res.Path}}, true
	case folderResource:
		return Condition{Field: filePath, Op: opFolder, Values: []string{res.Path}}, true
	case networkResource:
		return Condition{Field: networkHost, Op: opEq, Values: []string{res.Host}}, true
	case serverResource:
		return Condition{Field: mcpServer, Op: opEq, Values: []string{res.Name}}, true
	}
	return Condition{}, false
}

// Operators that only a resource has.
const (
	opFile   = "is file"
	opFolder = "is below"
)

// requireField reports a condition on a field that the action's tools do not have.
// The field would always be missing, and the statement would match always or never.
func (a *Action) requireField(name string, at *node.Value) {
	if a.Names == nil {
		return // reported already
	}
	needs := map[string]field{
		bashProgram:  shellField,
		bashRaw:      shellField,
		bashRedirect: shellField,
		filePath:     fileField,
		networkHost:  hostField,
	}[name]
	switch {
	case name == mcpServer:
		if a.Type == programAction || a.Type == toolAction && !a.everything() {
			at.Problem("asks for mcp.server, which the agent's own tools do not have: use an action of * or of type mcp_server or mcp_tool")
		}
	case needs == 0 || a.Type == programAction && needs == shellField:
	case a.Type != toolAction || a.everything():
		at.Problem("asks for %s, which is known only of %s: name these in the action", name, knownOf(needs))
	default:
		if lacks, ok := lacking(a.Names, needs); ok {
			at.Problem("asks for %s, which is not known of %s, only of %s: make two statements", name, lacks,
				knownOf(needs))
		}
	}
}

func knownOf(f field) string {
	var names []string
	for _, t := range tools {
		if t.has&f != 0 {
			names = append(names, t.name)
		}
	}
	return node.Words(names)
}
