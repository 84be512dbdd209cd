package toolname

import "strings"

// Wire is a tool of an MCP server in the form that harnesses name it by, without what differs between them:
// mcp_github_get_me, mcp__github__get_me.
func Wire(server, tool string) string { return flat(server + "_" + tool) }

// CalledWire is the form of a reported tool; empty: a plain tool.
func CalledWire(tool string) string {
	rest, ok := strings.CutPrefix(tool, "mcp_")
	if !ok {
		return ""
	}
	return flat(rest)
}

func flat(name string) string {
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	return strings.Trim(name, "_")
}
