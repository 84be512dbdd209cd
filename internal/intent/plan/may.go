package plan

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/names"
	"writ/internal/toolname"
)

// mayList is the list of tools that may be needed, as clients write it.
type mayList []jsontext.Value

func (m *mayList) UnmarshalJSON(raw []byte) error {
	switch jsontext.Value(raw).Kind() {
	case jsontext.KindNull:
		return nil
	case jsontext.KindBeginArray:
		return json.Unmarshal(raw, (*[]jsontext.Value)(m))
	}
	return fault.Field("plan.may", "must be a list of names of tools")
}

// tools reads the names. They have no arguments, and each is as in a step: a text, or an object that names tool and
// server.
func (m mayList) tools(source string) ([]Step, error) {
	if len(m) > MaxMay {
		return nil, invalid("plan.may", "must be at most %d names", MaxMay)
	}
	var list []Step
	for i, raw := range m {
		at := fmt.Sprintf("plan.may[%d]", i)
		w := writtenStep{}
		switch raw.Kind() {
		case jsontext.KindString:
			if err := json.Unmarshal(raw, &w.Action); err != nil {
				return nil, invalid(at, "must be the name of a tool")
			}
		case jsontext.KindBeginObject:
			if err := json.Unmarshal(raw, &w); err != nil {
				return nil, invalid(at, "must be the name of a tool")
			}
		default:
			return nil, invalid(at, "must be the name of a tool")
		}
		s, err := w.mayTool(at, source)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (w *writtenStep) mayTool(at, source string) (Step, error) {
	name, err := w.toolName(at)
	if err != nil {
		return Step{}, err
	}
	if given, err := w.constraints(at); err != nil || len(given) > 0 {
		return Step{}, invalid(at, "must have no arguments: it is only the name of a tool")
	}
	server, err := w.serverName(at)
	if err != nil {
		return Step{}, err
	}
	s := Step{Action: name}
	s.Server, s.Tool = toolname.Resolve(name, server, source)
	if !isName(s.Server) || !isName(s.Tool) {
		return Step{}, invalid(at, "must be 1 to %d characters without control characters", names.MaxBytes)
	}
	s.name = compared(s.Tool)
	return s, nil
}

// MayNeed reports whether a call is of a tool that the plan says may be needed.
func (d *Declared) MayNeed(call Call) bool {
	name := compared(call.Tool)
	for i := range d.Plan.May {
		if d.Plan.May[i].names(call.Server, call.Tool, name) && !slices.Contains(d.WidenedMay, i) {
			return true
		}
	}
	return false
}

// WideningMay are the indexes of the tools that may be needed and that none of the earlier plans names.
func (p *Plan) WideningMay(before []*Declared) []int {
	if len(before) == 0 {
		return nil
	}
	var widening []int
	for i := range p.May {
		tool := Call{Server: p.May[i].Server, Tool: p.May[i].Tool, NoArguments: true}
		if !slices.ContainsFunc(before, func(d *Declared) bool { return d.permits(&p.May[i]) || d.MayNeed(tool) }) {
			widening = append(widening, i)
		}
	}
	return widening
}

// Words are the whole goal.
func (p *Plan) Words() string { return p.words }

// GivenValues are the texts and numbers that steps give, of any argument.
func (p *Plan) GivenValues() []string { return p.given }

func givenValues(steps []Step) (values []string) {
	for i := range steps {
		for _, c := range steps[i].Given {
			values = appendLeaves(values, jsontext.Value(c.Equal))
		}
	}
	return values
}

// Texts are the texts and numbers that the constraint gives.
func (c Constraint) Texts() []string { return appendLeaves(nil, jsontext.Value(c.Equal)) }

// appendLeaves appends the texts and numbers of a value in canonical JSON.
func appendLeaves(values []string, raw jsontext.Value) []string {
	switch raw.Kind() {
	case jsontext.KindString:
		var text string
		if json.Unmarshal(raw, &text) == nil {
			values = append(values, text)
		}
	case jsontext.KindNumber:
		values = append(values, string(raw))
	case jsontext.KindBeginArray:
		var list []jsontext.Value
		if json.Unmarshal(raw, &list) == nil {
			for _, item := range list {
				values = appendLeaves(values, item)
			}
		}
	case jsontext.KindBeginObject:
		var object map[string]jsontext.Value
		if json.Unmarshal(raw, &object) == nil {
			for key, item := range object {
				values = appendLeaves(append(values, key), item)
			}
		}
	}
	return values
}
