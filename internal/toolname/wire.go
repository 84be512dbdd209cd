package toolname

import "strings"

// Wire is a tool of an MCP server in one name, without what differs between those who join them: mcp_github_get_me,
// mcp__github__get_me, github.get_me.
func Wire(server, tool string) string { return flat(server + "_" + tool) }

// CalledWires are the forms of a reported tool; empty: a plain tool. The mark of the Gemini CLI may be the beginning of
// the server's own name, because it puts no second one before that: then the call of that server is the one that is
// meant, and other is the form without the mark.
func CalledWires(tool string) (form, other string) {
	if !MayJoin(tool) {
		return "", ""
	}
	if rest, ok := strings.CutPrefix(tool, doubleMark); ok && strings.Contains(rest, double) {
		return flat(rest), ""
	}
	if rest, ok := strings.CutPrefix(tool, geminiMark); ok {
		other = flat(rest)
	}
	return flat(tool), other
}

func flat(name string) string {
	name = strings.ReplaceAll(name, Dot, "_")
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	return strings.Trim(name, "_")
}
