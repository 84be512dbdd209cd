package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/names"
	"writ/internal/toolname"
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
	s.Server, s.Tool = toolname.Resolve(name, strings.TrimSpace(w.MCP.text), source)
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
