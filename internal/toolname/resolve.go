package toolname

import (
	"slices"
	"strings"
)

const (
	// Local is the server of tools that belong to no MCP server and no harness.
	Local = "local"
	// Unknown is the server of an MCP tool whose name does not show where its server ends.
	Unknown = "unknown"

	gemini = "gemini-cli"
)

// harnesses are the coding agents whose own tools have no server.
var harnesses = []string{gemini, "claude-code", "codex", "copilot"}

// plugins are the names under which plugins of the harnesses speak.
var plugins = map[string]string{
	"armorgemini": gemini, "armorclaude": "claude-code", "armorcodex": "codex", "armorcopilot": "copilot",
	"claude": "claude-code",
}

// Hosts are the servers of tools that belong to no MCP server.
func Hosts() []string { return append([]string{Local}, harnesses...) }

// Harness is the server of a harness's own tools, from how a plan or a call names its source: codex, ArmorCodex,
// codex-registered. It is Local for every other source.
func Harness(source string) string {
	source = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(source)), "-registered")
	if harness, ok := plugins[source]; ok {
		return harness
	}
	if slices.Contains(harnesses, source) {
		return source
	}
	return Local
}

// Resolve is the server and the tool of a called name, where no plan says: the server that the client states, else the
// one in front of the name, else the harness that is its source.
func Resolve(called, server, source string) (string, string) {
	if server != "" {
		return server, strings.TrimPrefix(called, server+double)
	}
	if IsGemini(called) && Harness(source) == gemini {
		return Unknown, called
	}
	if server, tool, ok := Split(called); ok {
		return server, tool
	}
	return Harness(source), called
}

// IsStamp reports whether a server is only the name that a plugin puts on every step: a harness, which has no MCP tools
// of its own.
func IsStamp(server string) bool {
	return Harness(server) != Local || server == "openclaw"
}

// IsReserved reports whether an MCP server has a name under which tools of no MCP server are judged. Its
// tools would pass for them.
func IsReserved(server string) bool {
	server = strings.ToLower(strings.TrimSpace(server))
	return slices.Contains(Hosts(), server) || server == Unknown
}

// IsGemini reports whether a name has the form that the Gemini CLI gives to tools of MCP servers.
func IsGemini(called string) bool {
	return strings.HasPrefix(called, geminiMark) && !strings.HasPrefix(called, doubleMark)
}

// Split is the server and the tool that a name itself claims, cut at the first separator: mcp__files__delete.
func Split(called string) (server, tool string, ok bool) {
	server, tool, ok = strings.Cut(strings.TrimPrefix(strings.TrimSpace(called), doubleMark), double)
	return server, tool, ok && server != "" && tool != ""
}

// IsBare reports whether a name has no server in it, as harnesses write it for the tools of MCP servers.
func IsBare(tool string) bool {
	_, _, marked := Split(tool)
	return !marked && !strings.HasPrefix(tool, geminiMark)
}

// BareHost is the harness of a source, if the name is that of one of its own tools. An agent writes its plan, and must
// not get its Bash allowed by planning it on a server whose tools may run.
func BareHost(tool, source string) (server string, ok bool) {
	server = Harness(source)
	return server, server != Local && IsBare(tool)
}
