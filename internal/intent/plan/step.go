package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/names"
)

// writtenStep is a step as clients send it.
type writtenStep struct {
	Action      text           `json:"action"`
	Tool        text           `json:"tool"`
	MCP         text           `json:"mcp"`
	Description text           `json:"description"`
	Params      jsontext.Value `json:"params"`
	Inputs      jsontext.Value `json:"inputs"`
	Arguments   jsontext.Value `json:"arguments"`
	Metadata    metadata       `json:"metadata"`
	Strict      bool           `json:"strict"`
	MaxCalls    jsontext.Value `json:"max_calls"`
}

// step parses a written step.
func (w *writtenStep) step(i int, source string) (Step, error) {
	at := fmt.Sprintf("plan.steps[%d]", i)
	name, err := w.toolName(at)
	if err != nil {
		return Step{}, err
	}
	s := Step{
		Action:      cmp.Or(w.Action.text, w.Tool.text),
		Description: cut(w.Description.text, maxDescription),
		Strict:      w.Strict,
	}
	s.Server, s.Tool = ResolveName(name, strings.TrimSpace(w.MCP.text), source)
	switch {
	case !isName(s.Server):
		return Step{}, invalid(at+".mcp", "must be 1 to %d characters without control characters", names.MaxBytes)
	case !isName(s.Tool), !isName(s.Action):
		return Step{}, invalid(at+".action", "must be 1 to %d characters without control characters", names.MaxBytes)
	}
	s.name = compared(s.Tool)
	if s.Given, err = w.constraints(at); err != nil {
		return Step{}, err
	}
	if s.MaxCalls, err = w.maxCalls(at); err != nil {
		return Step{}, err
	}
	return s, nil
}

// toolName is the name under action or tool. It refuses two different names: it is
// unclear which of them the client will call.
func (w *writtenStep) toolName(at string) (string, error) {
	action, tool := strings.TrimSpace(w.Action.text), strings.TrimSpace(w.Tool.text)
	switch {
	case action == "" && tool == "":
		return "", invalid(at, "names no tool: give action or tool")
	case action == "":
		return tool, nil
	case tool != "" && compared(action) != compared(tool):
		return "", invalid(at, "action and tool differ: give the name of the tool in both, or in one")
	}
	return action, nil
}

// constraints are the arguments that the step fixes, under any of their names.
func (w *writtenStep) constraints(at string) ([]Constraint, error) {
	var all []Constraint
	for _, member := range []struct {
		name string
		raw  jsontext.Value
	}{
		{".params", w.Params}, {".inputs", w.Inputs}, {".arguments", w.Arguments},
		{".metadata.inputs", w.Metadata.Inputs},
	} {
		if member.raw == nil || member.raw.Kind() == jsontext.KindNull {
			continue
		}
		given, err := ParseArguments(member.raw)
		if err != nil {
			return nil, invalid(at+member.name, "must be an object of arguments")
		}
		for _, m := range given.members {
			all = append(all, Constraint{Key: m.key, Equal: m.value})
		}
	}
	slices.SortStableFunc(all, func(a, b Constraint) int { return strings.Compare(a.Key, b.Key) })
	for i := 1; i < len(all); i++ {
		if all[i-1].Key == all[i].Key && all[i-1].Equal != all[i].Equal {
			return nil, invalid(at, "gives two values for one argument")
		}
	}
	return slices.CompactFunc(all, func(a, b Constraint) bool { return a.Key == b.Key }), nil
}

func (w *writtenStep) maxCalls(at string) (int64, error) {
	if w.MaxCalls == nil || w.MaxCalls.Kind() == jsontext.KindNull {
		return 0, nil
	}
	// Canonical JSON writes an integer as its digits.
	var n int64
	for _, c := range bytes.TrimSpace(w.MaxCalls) {
		if c < '0' || c > '9' || n > maxCalls {
			n = -1
			break
		}
		n = n*10 + int64(c-'0')
	}
	if n < 1 || n > maxCalls {
		return 0, invalid(at+".max_calls", "must be a whole number from 1 to %d", maxCalls)
	}
	return n, nil
}

// ResolveName returns the server and the tool of a call's name as a step of that source
// would be read. A name may have its server in front: server__tool, or
// mcp__server__tool as some harnesses write it.
func ResolveName(name, server, source string) (string, string) {
	if server != "" {
		return server, strings.TrimPrefix(name, server+"__")
	}
	if before, after, ok := splitName(name); ok {
		return before, after
	}
	return harness(source), name
}

// OwnName is the server and the tool that a name itself claims: mcp__files__delete.
func OwnName(name string) (server, tool string, ok bool) { return splitName(strings.TrimSpace(name)) }

// splitName cuts server__tool at the first separator.
func splitName(name string) (server, tool string, ok bool) {
	server, tool, ok = strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	return server, tool, ok && server != "" && tool != ""
}

// geminiPrefix begins the names that Gemini gives to tools of MCP servers.
const geminiPrefix = "mcp_"

// IsBare reports whether a name has no server in it, as harnesses write it for the tools
// of MCP servers.
func IsBare(tool string) bool {
	_, _, marked := OwnName(tool)
	return !marked && !strings.HasPrefix(tool, geminiPrefix)
}

// BareHost is the harness of a source, if the name is that of one of its own tools. An
// agent writes its plan, and must not get its Bash allowed by planning it on a server
// whose tools may run.
func BareHost(tool, source string) (server string, ok bool) {
	server = harness(source)
	return server, server != Local && IsBare(tool)
}

// harness is the server of a harness's own tools, from the plan's source: codex,
// codex-registered or claude-registered.
func harness(source string) string {
	source = strings.TrimSuffix(source, "-registered")
	if source == "claude" {
		source = "claude-code"
	}
	if slices.Contains(harnesses, source) {
		return source
	}
	return Local
}

// isName reports whether text can name a server or tool.
func isName(text string) bool {
	return text != "" && names.Valid(text)
}

// compared is a tool's name as names are compared: trimmed and in lower case. Only
// ASCII is folded, because letters of other scripts can fold to ASCII letters.
func compared(name string) string {
	name = strings.TrimSpace(name)
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 'A' && c <= 'Z' {
			b := []byte(name)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] = c | 0x20
				}
			}
			return string(b)
		}
	}
	return name
}

// shells are the names under which Codex calls its one shell tool.
var shells = []string{"bash", "exec_command", "shell", "local_shell", "unified_exec", "container.exec"}

// sameTool reports whether a called name, as compared, is the step's tool.
func (s *Step) sameTool(name string) bool {
	if s.name == name {
		return true
	}
	return s.Server == "codex" && slices.Contains(shells, s.name) && slices.Contains(shells, name)
}
