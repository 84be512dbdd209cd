package toolname

import "strings"

// Wire is a tool of an MCP server in one name, without what differs between those who join them: mcp_github_get_me,
// mcp__github__get_me, github.get_me.
func Wire(server, tool string) string { return flat(server + "_" + tool) }

// CalledWire is the form of a reported tool; empty: a plain tool.
func CalledWire(tool string) string {
	if !MayJoin(tool) {
		return ""
	}
	return flat(strings.TrimPrefix(tool, geminiMark))
}

func flat(name string) string {
	name = strings.ReplaceAll(name, Dot, "_")
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	return strings.Trim(name, "_")
}
