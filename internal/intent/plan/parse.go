package plan

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
	"writ/internal/fault"
	"writ/internal/misspelling"
	"writ/internal/names"
)

// Parse reads a plan in any of the published shapes. Its error is an Invalid or
// TooLarge fault that a model can act on, and never shows a value of the plan.
func Parse(raw []byte) (*Plan, error) {
	if len(raw) > MaxBytes {
		return nil, fault.New(fault.TooLarge, "the plan has %d bytes; at most %d are allowed", len(raw), MaxBytes)
	}
	if tooDeep(raw) {
		return nil, invalid("plan", "is nested deeper than %d levels", MaxDepth)
	}
	text, err := canonical.Transform(raw)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the plan is not JSON that everyone reads alike: %s", reason(err))
	}
	d, err := unwrap(text)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Goal:    cutAtWord(cmp.Or(d.Goal.text, d.Metadata.Goal.text), maxGoal),
		Source:  cut(strings.TrimSpace(cmp.Or(d.Metadata.Source.text, d.Source.text)), names.MaxBytes),
		Ordered: d.Ordered,
		digest:  sha256.Sum256(text),
	}
	if len(d.Steps) > MaxSteps {
		return nil, fault.New(fault.TooLarge, "the plan has %d steps; at most %d are allowed", len(d.Steps), MaxSteps)
	}
	p.Steps = make([]Step, len(d.Steps))
	for i, s := range d.Steps {
		if p.Steps[i], err = s.step(i, p.Source); err != nil {
			return nil, err
		}
	}
	if p.May, err = d.May.tools(p.Source); err != nil {
		return nil, err
	}
	p.words = cmp.Or(d.Goal.text, d.Metadata.Goal.text)
	p.given = givenValues(p.Steps)
	p.autoMinted = d.autoMinted()
	return p, nil
}

// document is the outermost object of a plan, as clients write it.
type document struct {
	Goal     text           `json:"goal"`
	Source   text           `json:"source"`
	Ordered  bool           `json:"ordered"`
	Steps    steps          `json:"steps"`
	May      mayList        `json:"may"`
	Plan     jsontext.Value `json:"plan"` // a wrapper around the plan
	Metadata metadata       `json:"metadata"`
}

// metadata is an object of the client; anything else under that name is ignored.
type metadata struct {
	Goal   text           `json:"goal"`
	Source text           `json:"source"`
	Inputs jsontext.Value `json:"inputs"`
}

func (m *metadata) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	type plain metadata
	return json.Unmarshal(raw, (*plain)(m))
}

// text is a string; anything else counts as absent.
type text struct{ text string }

func (t *text) UnmarshalJSON(raw []byte) error {
	t.text = ""
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &t.text)
	}
	return nil
}

// steps is the list of steps. Models sometimes send it as a string.
type steps []writtenStep

func (s *steps) UnmarshalJSON(raw []byte) error {
	switch jsontext.Value(raw).Kind() {
	case jsontext.KindString:
		inner, err := unstring(raw)
		if err != nil || jsontext.Value(inner).Kind() != jsontext.KindBeginArray {
			return errors.New("steps must be a list")
		}
		raw = inner
	case jsontext.KindBeginArray:
	default:
		return errors.New("steps must be a list")
	}
	var written []jsontext.Value
	if err := json.Unmarshal(raw, &written); err != nil {
		return err
	}
	for i, step := range written {
		if step.Kind() != jsontext.KindBeginObject {
			return fmt.Errorf("steps[%d] must be an object that names a tool, such as {\"server\", \"tool\"}", i)
		}
	}
	return json.Unmarshal(raw, (*[]writtenStep)(s))
}

// unwrap reads the document, which may be inside {"plan": ...}, and may be a string.
func unwrap(text []byte) (*document, error) {
	raw := text
	for range 3 {
		if jsontext.Value(raw).Kind() == jsontext.KindString {
			inner, err := unstring(raw)
			if err != nil {
				return nil, fault.Wrap(err, fault.Invalid,
					"the plan is a string that holds no JSON: send an object with steps")
			}
			raw = inner
		}
		if jsontext.Value(raw).Kind() != jsontext.KindBeginObject {
			break
		}
		d := new(document)
		if err := json.Unmarshal(raw, d); err != nil {
			return nil, unread(err)
		}
		if d.Steps != nil {
			return d, nil
		}
		if d.Plan == nil {
			return nil, invalid("plan", "must be an object with a list of steps%s", meantSteps(raw))
		}
		raw = d.Plan
	}
	return nil, invalid("plan", "must be an object with a list of steps")
}

// meantSteps names the member that was probably meant to be the steps. Members of a plan that are known are not.
func meantSteps(raw []byte) string {
	var read map[string]jsontext.Value
	if json.Unmarshal(raw, &read) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if misspelling.Of(name, planMembers) == "steps" {
			return "; " + shown(name) + " is not read: did you mean steps?"
		}
	}
	return ""
}

// unstring gives the canonical JSON that is written in a JSON string.
func unstring(quoted []byte) ([]byte, error) {
	inner, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return nil, err
	}
	if tooDeep(inner) {
		return nil, fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	return canonical.Transform(inner)
}

// tooDeep reports whether arrays and objects are nested deeper than MaxDepth. It leaves
// invalid JSON to the decoder.
func tooDeep(raw []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// selfPlanning are the sources of plans that a plugin makes by itself. Plans that were
// registered, or read from a file, have other sources.
var selfPlanning = []string{"claude-code", "codex", "copilot"}

// autoMinted recognizes a plan that a plugin made by itself; see Plan.AutoMinted.
func (d *document) autoMinted() bool {
	if len(d.Steps) != 1 || !slices.Contains(selfPlanning, d.Metadata.Source.text) {
		return false
	}
	return d.Steps[0].Tool.text == "" && d.Steps[0].Metadata.Inputs != nil
}

// cut shortens a text to at most n bytes, at a whole character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}

// cutAtWord is cut at the end of a word: redaction does not recognize half a secret.
func cutAtWord(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = cut(text, n)
	return text[:strings.LastIndexAny(text, " \t\n")+1]
}

func invalid(field, format string, args ...any) error { return fault.Field(field, format, args...) }

// unread is the error for a plan that the decoder does not take. It names the member whose value has another type than
// it must have: every other type than yes or no is read leniently.
func unread(err error) error {
	wrong, ok := errors.AsType[*json.SemanticError](err)
	if !ok || wrong.Err != nil || wrong.GoType == nil || wrong.GoType.Kind() != reflect.Bool {
		return fault.Wrap(err, fault.Invalid, "the plan cannot be read: %s", reason(err))
	}
	at := "plan"
	for token := range wrong.JSONPointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			at += "[" + token + "]"
		} else {
			at += "." + token
		}
	}
	return invalid(at, "must be true or false, and no %s", kindName(wrong.JSONKind))
}

// reason is the message of an error without the decoder's, which names Go types.
func reason(err error) string {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		if semantic.Err != nil {
			return semantic.Err.Error()
		}
		return fmt.Sprintf("a %s where it does not belong", kindName(semantic.JSONKind))
	}
	return strings.TrimPrefix(err.Error(), "canonical JSON: ")
}

func kindName(kind jsontext.Kind) string {
	if kind == 0 {
		return "value"
	}
	return kind.String()
}
