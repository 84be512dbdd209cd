package plan

import "strings"

// Unknown is the server of an MCP tool of no known server.
const Unknown = "unknown"

// SplitMCPName finds server and tool in mcp_<server>_<tool>, as the Gemini CLI names
// MCP tools. Underscores make such a name ambiguous: the longest registered server that
// fits counts. Without one, the tool keeps its whole name on the server Unknown.
func SplitMCPName(name string, registered []string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp_")
	if !ok || strings.HasPrefix(rest, "_") {
		return "", "", false
	}
	for _, s := range registered {
		after, found := strings.CutPrefix(rest, s+"_")
		if found && s != "" && after != "" && len(s) > len(server) {
			server, tool = s, after
		}
	}
	if server == "" {
		return Unknown, name, true
	}
	return server, tool, true
}
