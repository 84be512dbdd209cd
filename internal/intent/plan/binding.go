package plan

import (
	"errors"
	"strconv"
	"strings"

	"writ/internal/canonical"
)

var errBinding = errors.New("a step is not written as the tree of its plan has it")

// ReadBinding reads a step as Step.Binding writes it. It refuses every other spelling. It is written by hand, because a
// verifier of delegations does little else beside signatures.
func ReadBinding(raw []byte) (s Step, ordered bool, err error) {
	in := &bindingReader{rest: string(raw)}
	s.Action = in.text(`{"action":`)
	given := in.value(`,"arguments":`)
	s.MaxCalls, err = strconv.ParseInt(in.value(`,"max_calls":`), 10, 64)
	s.Server = in.text(`,"mcp":`)
	ordered = in.value(`,"ordered":`) == "true"
	s.Strict = in.value(`,"strict":`) == "true"
	s.Tool = in.text(`,"tool":`)
	if in.failed || err != nil || in.rest != "}" || !strings.HasPrefix(given, "{") {
		return Step{}, false, errBinding
	}
	if given != "{}" {
		same, err := canonical.Transform([]byte(given))
		if err != nil || string(same) != given {
			return Step{}, false, errBinding
		}
		for _, m := range split(given).members {
			s.Given = append(s.Given, Constraint{Key: m.key, Equal: m.value})
		}
	}
	if string(s.Binding(ordered)) != string(raw) {
		return Step{}, false, errBinding
	}
	s.name = compared(s.Tool)
	return s, ordered, nil
}

// bindingReader reads the members of a binding one after the other.
type bindingReader struct {
	rest   string
	failed bool
}

// value is the text of the next member, which must have this name.
func (r *bindingReader) value(name string) string {
	after, ok := strings.CutPrefix(r.rest, name)
	end := skipValue(after, 0)
	if r.failed = r.failed || !ok || end == 0 || end > len(after); r.failed {
		return ""
	}
	r.rest = after[end:]
	return after[:end]
}

// text is the next member, which must be a string.
func (r *bindingReader) text(name string) string {
	quoted := r.value(name)
	if r.failed = r.failed || len(quoted) < 2 || quoted[0] != '"' || skipString(quoted, 0) != len(quoted); r.failed {
		return ""
	}
	return unquote(quoted)
}
