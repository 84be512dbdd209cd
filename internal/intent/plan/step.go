package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/names"
	"writ/internal/toolname"
)

// writtenStep is a step as clients send it.
type writtenStep struct {
	Action      text           `json:"action"`
	Tool        text           `json:"tool"`
	ToolName    text           `json:"tool_name"`
	MCP         text           `json:"mcp"`
	Server      text           `json:"server"`
	Context     hostContext    `json:"mcp_context"`
	Description text           `json:"description"`
	Params      jsontext.Value `json:"params"`
	Inputs      jsontext.Value `json:"inputs"`
	Arguments   jsontext.Value `json:"arguments"`
	ToolInput   jsontext.Value `json:"tool_input"`
	Input       jsontext.Value `json:"input"`
	Args        jsontext.Value `json:"args"`
	Parameters  jsontext.Value `json:"parameters"`
	Metadata    metadata       `json:"metadata"`
	Strict      bool           `json:"strict"`
	MaxCalls    jsontext.Value `json:"max_calls"`
}

// hostContext is the server and tool in the words of plugins; anything else under that name is ignored.
type hostContext struct {
	Server text `json:"server_name"`
	Tool   text `json:"tool_name"`
}

func (h *hostContext) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	type plain hostContext
	return json.Unmarshal(raw, (*plain)(h))
}

// step parses a written step.
func (w *writtenStep) step(i int, source string) (Step, error) {
	at := fmt.Sprintf("plan.steps[%d]", i)
	name, err := w.toolName(at)
	if err != nil {
		return Step{}, err
	}
	s := Step{
		Action:      cmp.Or(w.Action.text, w.Tool.text, w.ToolName.text, w.Context.Tool.text),
		Description: cut(w.Description.text, maxDescription),
		Strict:      w.Strict,
	}
	server, err := w.serverName(at)
	if err != nil {
		return Step{}, err
	}
	s.Server, s.Tool = toolname.Resolve(name, server, source)
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

// toolName is the name under action, tool or tool_name. It refuses two different names: it is unclear which of them the
// client will call. Only a tool beside an action permits nothing: published SDKs call the action, and their examples
// name under tool whatever does it.
func (w *writtenStep) toolName(at string) (string, error) {
	name, as := "", ""
	for _, sent := range []struct{ as, text string }{
		{"action", w.Action.text}, {"tool", w.Tool.text}, {"tool_name", w.ToolName.text},
		{"mcp_context.tool_name", w.Context.Tool.text},
	} {
		switch text := strings.TrimSpace(sent.text); {
		case text == "":
		case name == "":
			name, as = text, sent.as
		case as == "action" && sent.as == "tool":
		case compared(name) != compared(text):
			return "", invalid(at, "%s and %s differ: give the name of the tool in both, or in one", as, sent.as)
		}
	}
	if name == "" {
		return "", invalid(at, "names no tool: give action or tool")
	}
	return name, nil
}

// serverName is the server under any of its names; empty: the step names none.
func (w *writtenStep) serverName(at string) (string, error) {
	name, as := "", ""
	for _, sent := range []struct{ as, text string }{
		{"mcp", w.MCP.text}, {"server", w.Server.text}, {"mcp_context.server_name", w.Context.Server.text},
	} {
		switch text := strings.TrimSpace(sent.text); {
		case text == "":
		case name == "":
			name, as = text, sent.as
		case name != text:
			return "", invalid(at, "%s and %s differ: give the name of the server in both, or in one", as, sent.as)
		}
	}
	return name, nil
}

// constraints are the arguments that the step fixes, under any of their names.
func (w *writtenStep) constraints(at string) ([]Constraint, error) {
	var all []Constraint
	for _, member := range []struct {
		name    string
		raw     jsontext.Value
		isLoose bool // planners write sentences there, too, which fix nothing
	}{
		{".params", w.Params, false}, {".inputs", w.Inputs, false}, {".arguments", w.Arguments, false},
		{".tool_input", w.ToolInput, true}, {".input", w.Input, true}, {".metadata.inputs", w.Metadata.Inputs, false},
		{".args", w.Args, isSentence(w.Args)}, {".parameters", w.Parameters, isSentence(w.Parameters)},
	} {
		if member.raw == nil || member.raw.Kind() == jsontext.KindNull {
			continue
		}
		given, err := ParseArguments(member.raw)
		if err != nil && member.isLoose {
			continue
		}
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

func isSentence(raw jsontext.Value) bool { return raw.Kind() == jsontext.KindString }

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
