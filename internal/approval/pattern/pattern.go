// Package pattern says which arguments a standing approval takes. It is pure.
package pattern

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
	"writ/internal/fault"
	"writ/internal/names"
)

// Limits of patterns.
const (
	maxTerms   = 32
	maxPath    = 200 // bytes
	maxChoices = 50
	maxValue   = 1000 // bytes of a value
)

// Pattern says which arguments a standing approval takes. It is strict: a term must name
// every argument, and every term must find its argument.
type Pattern []Term

// Term is what one argument must be. Exactly one of the checks is set, or Min and
// Max together. Values are canonical JSON, so that 1, 1.0 and 1e0 are one number.
type Term struct {
	// Path names the argument: members of objects, with dots between. One whose
	// name holds a dot itself cannot be named.
	Path   string           `json:"path"`
	Equals jsontext.Value   `json:"equals,omitzero"`
	OneOf  []jsontext.Value `json:"oneOf,omitempty"`
	// Prefix is how a text begins. What follows must not climb out of it: it holds
	// neither ".." nor a backslash nor an encoded dot or slash.
	Prefix string         `json:"prefix,omitzero"`
	Max    jsontext.Value `json:"max,omitzero"`
	Min    jsontext.Value `json:"min,omitzero"`
	Any    bool           `json:"any,omitzero"` // whatever it is, and all within it
}

// termText is a term as people send it, under its path.
type termText struct {
	Equals jsontext.Value   `json:"equals"`
	OneOf  []jsontext.Value `json:"oneOf"`
	Prefix *string          `json:"prefix"`
	Max    jsontext.Value   `json:"max"`
	Min    jsontext.Value   `json:"min"`
	Any    *bool            `json:"any"`
}

// Parse reads a pattern as people send it: {"to": {"equals": "x"},
// "amount": {"max": 100}}.
func Parse(raw []byte) (Pattern, error) {
	var terms map[string]termText
	if err := json.Unmarshal(raw, &terms, json.RejectUnknownMembers(true)); err != nil || terms == nil {
		return nil, fault.Field("scope.pattern",
			"must be an object of paths, each with equals, oneOf, prefix, max, min or any")
	}
	pattern := make(Pattern, 0, len(terms))
	for path, text := range terms {
		term := Term{
			Path:   path,
			Equals: text.Equals,
			OneOf:  text.OneOf,
			Max:    text.Max,
			Min:    text.Min,
		}
		if text.Prefix != nil {
			if term.Prefix = *text.Prefix; term.Prefix == "" {
				return nil, termFault(path, "prefix must not be empty: any takes every value")
			}
		}
		if term.Any = text.Any != nil && *text.Any; text.Any != nil && !term.Any {
			return nil, termFault(path, "any can only be true")
		}
		pattern = append(pattern, term)
	}
	slices.SortFunc(pattern, func(a, b Term) int { return strings.Compare(a.Path, b.Path) })
	return pattern, pattern.normalise()
}

// normalise makes values canonical and checks the pattern.
func (p Pattern) normalise() error {
	for i := range p {
		t := &p[i]
		for _, value := range append([]*jsontext.Value{&t.Equals, &t.Max, &t.Min}, pointers(t.OneOf)...) {
			if *value == nil {
				continue
			}
			text, err := canonical.Transform(*value)
			if err != nil {
				return termFault(t.Path, "holds a value that not everyone reads alike")
			}
			*value = text
		}
	}
	return p.Check()
}

func pointers(values []jsontext.Value) []*jsontext.Value {
	all := make([]*jsontext.Value, len(values))
	for i := range values {
		all[i] = &values[i]
	}
	return all
}

// termFault names a term by its path, unless that is long or holds control characters.
func termFault(path, format string, args ...any) error {
	if len(path) > maxPath || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) {
		path = "?"
	}
	return fault.Field("scope.pattern."+path, format, args...)
}

// Check refuses a pattern that restricts nothing, or is too large.
func (p Pattern) Check() error {
	if len(p) == 0 || len(p) > maxTerms {
		return fault.Field("scope.pattern", "must name from 1 to %d arguments", maxTerms)
	}
	for i, t := range p {
		if err := t.check(); err != nil {
			return err
		}
		for _, other := range p[:i] {
			if covers(other.Path, t.Path) || covers(t.Path, other.Path) {
				return termFault(t.Path, "is named twice, or lies within another one")
			}
		}
	}
	if !slices.ContainsFunc(p, func(t Term) bool { return !t.Any }) {
		return fault.Field("scope.pattern", "must narrow at least one argument: else choose minutes or session")
	}
	return nil
}

func (t Term) check() error {
	if t.Path == "" || len(t.Path) > maxPath || slices.Contains(strings.Split(t.Path, "."), "") ||
		!utf8.ValidString(t.Path) || strings.ContainsFunc(t.Path, names.Hides) {
		return termFault(t.Path, "must be names of arguments with dots between, at most %d bytes", maxPath)
	}
	checks := 0
	for _, set := range [...]bool{
		t.Equals != nil, len(t.OneOf) > 0, t.Prefix != "", t.Max != nil || t.Min != nil, t.Any,
	} {
		if set {
			checks++
		}
	}
	if checks != 1 {
		return termFault(t.Path, "must have one of equals, oneOf, prefix, any, or max and min")
	}
	if len(t.OneOf) > maxChoices {
		return termFault(t.Path, "oneOf takes at most %d values", maxChoices)
	}
	for _, value := range append([]jsontext.Value{t.Equals, t.Max, t.Min, jsontext.Value(t.Prefix)}, t.OneOf...) {
		if len(value) > maxValue {
			return termFault(t.Path, "a value may have at most %d bytes", maxValue)
		}
	}
	for _, bound := range [...]jsontext.Value{t.Max, t.Min} {
		if bound != nil && bound.Kind() != '0' {
			return termFault(t.Path, "max and min must be numbers")
		}
	}
	if _, host, isURL := strings.Cut(t.Prefix, "://"); isURL && !strings.Contains(host, "/") {
		return termFault(t.Path, "a prefix of an address must hold the slash behind its host, or it takes other hosts")
	}
	return nil
}

// covers reports whether one path is the other, or holds it.
func covers(path, other string) bool {
	return path == other || strings.HasPrefix(other, path+".")
}

// takes reports whether a value, in canonical JSON, is what the term says.
func (t Term) takes(value jsontext.Value) bool {
	switch {
	case t.Any:
		return true
	case t.Equals != nil:
		return string(value) == string(t.Equals)
	case len(t.OneOf) > 0:
		return slices.ContainsFunc(t.OneOf, func(choice jsontext.Value) bool { return string(choice) == string(value) })
	case t.Prefix != "":
		return value.Kind() == '"' && beginsWith(value, t.Prefix)
	case t.Max != nil || t.Min != nil:
		return within(value, t.Min, t.Max)
	}
	return false
}

// beginsWith is strict about what follows: a path or an address must not leave its
// prefix again.
func beginsWith(quoted jsontext.Value, prefix string) bool {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return false
	}
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return false
	}
	lower := strings.ToLower(rest)
	for _, climb := range [...]string{"..", `\`, "%2e", "%2f", "%5c", "%25", "\x00"} { // %25: what is decoded twice
		if strings.Contains(lower, climb) {
			return false
		}
	}
	return !(strings.HasSuffix(prefix, ".") && strings.HasPrefix(rest, "."))
}

// within compares numbers exactly. A bound that is nil does not bind.
func within(value, least, most jsontext.Value) bool {
	number, ok := exact(value)
	if !ok {
		return false
	}
	if least != nil {
		if bound, ok := exact(least); !ok || number.Cmp(bound) < 0 {
			return false
		}
	}
	if most != nil {
		if bound, ok := exact(most); !ok || number.Cmp(bound) > 0 {
			return false
		}
	}
	return true
}

// exact is a number without rounding. Those that no float holds are none.
func exact(value jsontext.Value) (*big.Rat, bool) {
	if value.Kind() != '0' || len(value) > 400 {
		return nil, false
	}
	if _, err := strconv.ParseFloat(string(value), 64); err != nil {
		return nil, false
	}
	return new(big.Rat).SetString(string(value))
}

// Words say what the pattern takes, in the order of its paths.
func (p Pattern) Words() string {
	words := make([]string, len(p))
	for i, t := range p {
		words[i] = t.words()
	}
	return strings.Join(words, " and ")
}

func (t Term) words() string {
	path := names.Quoted(t.Path) // agents name their arguments, and people copy the names
	switch {
	case t.Any:
		return path + " is anything"
	case t.Equals != nil:
		return fmt.Sprintf("%s is %s", path, t.Equals)
	case len(t.OneOf) > 0:
		choices := make([]string, len(t.OneOf))
		for i, choice := range t.OneOf {
			choices[i] = string(choice)
		}
		return fmt.Sprintf("%s is one of %s", path, strings.Join(choices, ", "))
	case t.Prefix != "":
		return fmt.Sprintf("%s begins with %q", path, t.Prefix)
	case t.Max != nil && t.Min != nil:
		return fmt.Sprintf("%s is from %s to %s", path, t.Min, t.Max)
	case t.Max != nil:
		return fmt.Sprintf("%s is at most %s", path, t.Max)
	case t.Min != nil:
		return fmt.Sprintf("%s is at least %s", path, t.Min)
	}
	return path + " is nothing"
}

// Text is the pattern as it is stored; empty: none.
func (p Pattern) Text() (string, error) {
	if len(p) == 0 {
		return "", nil
	}
	text, err := json.Marshal(p)
	return string(text), err
}

// ParseText reads a pattern as it is stored.
func ParseText(text string) (p Pattern, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &p)
	return p, err
}
