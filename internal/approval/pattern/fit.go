package pattern

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
	"writ/internal/fault"
	"writ/internal/redaction"
)

// Matches reports whether a call's arguments, in canonical JSON, fit.
func (p Pattern) Matches(arguments string) bool {
	if len(p) == 0 {
		return false
	}
	w := walk{pattern: p, found: make([]bool, len(p)), takes: Term.takes}
	return w.fits("", jsontext.Value(arguments)) && !slices.Contains(w.found, false)
}

// walk compares arguments with a pattern.
type walk struct {
	pattern Pattern
	found   []bool // by term
	takes   func(Term, jsontext.Value) bool
	misfit  string // path of the first argument that does not fit
}

// fits checks an argument by the term that names it, and enters an object that a path
// leads through. Everything else is more than was permitted.
func (w *walk) fits(path string, value jsontext.Value) bool {
	if i := slices.IndexFunc(w.pattern, func(t Term) bool { return path != "" && t.Path == path }); i >= 0 {
		w.found[i] = true
		return w.takes(w.pattern[i], value) || w.stop(path)
	}
	leadsOn := path == "" || slices.ContainsFunc(w.pattern, func(t Term) bool { return covers(path, t.Path) })
	if !leadsOn || value.Kind() != '{' {
		return w.stop(path)
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(value, &members); err != nil {
		return w.stop(path)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) { // the error names the same one each time
		if strings.Contains(name, ".") || name == "" {
			return w.stop(path) // its path would be that of another
		}
		inner := name
		if path != "" {
			inner = path + "." + name
		}
		if !w.fits(inner, members[name]) {
			return false
		}
	}
	return true
}

func (w *walk) stop(path string) bool {
	w.misfit = path
	return false
}

// FitsCall refuses a pattern that does not take the pending call itself, which would
// wait on after its approval. What is redacted in its arguments counts as fitting.
func (p Pattern) FitsCall(arguments string) error {
	shown, err := canonical.Transform([]byte(arguments))
	if arguments == "" || err != nil {
		return nil // unknown
	}
	w := walk{pattern: p, found: make([]bool, len(p)), takes: func(t Term, value jsontext.Value) bool {
		return strings.Contains(string(value), redaction.Mark) || t.takes(value)
	}}
	if !w.fits("", shown) {
		if w.misfit == "" {
			return fault.Field("scope.pattern", "does not take the arguments of the pending call")
		}
		return termFault(w.misfit,
			"does not take this argument of the pending call: every argument must be named and fit")
	}
	if i := slices.Index(w.found, false); i >= 0 {
		return termFault(p[i].Path, "is no argument of the pending call")
	}
	return nil
}
