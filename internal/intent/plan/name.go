package plan

import (
	"strings"
	"unicode"
)

// Hides reports whether a character has no place in a name that people read: it
// controls, turns the direction of what is around it, ends a line, or is not to be
// seen, so that the name shows as another than it is. What joins letters and
// pictures is not meant.
func Hides(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && r != joiner && r != nonJoiner
}

// Unknown is the server of an MCP tool that belongs to no server we know.
const Unknown = "unknown"

// SplitMCPName finds server and tool in mcp_<server>_<tool>, as the Gemini CLI
// names MCP tools. Underscores make such a name ambiguous; the longest
// registered server that fits is taken. With none the tool keeps its whole name,
// on a server that no policy knows. Other names are not of this form.
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
