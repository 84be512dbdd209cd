// Package arguments reads the arguments of a call once, for everybody who needs them:
// conditions see decoded values, plans compare canonical texts, and people see what is
// left after redaction.
package arguments

import (
	"bytes"
	"errors"

	"writ/internal/canonical"
	"writ/internal/intent/plan"
	"writ/internal/redaction"
	"writ/internal/toolcall"
)

// maxShown is how many bytes of redacted arguments are kept. Beyond it a record has
// their digest alone.
const maxShown = 64 << 10

// Arguments are those of a call.
type Arguments struct {
	Decoded   map[string]any
	Canonical plan.Arguments
	// Shown is what people may see, in canonical JSON; nil: too long to be kept.
	// Incomplete: it lacks something.
	Shown      []byte
	Incomplete bool
}

// Read reads arguments. No text, and null, are no arguments. Errors hold no values.
func Read(raw []byte) (a Arguments, err error) {
	raw = bytes.TrimSpace(raw)
	if a.Decoded, err = toolcall.Decode(raw); err != nil {
		return Arguments{}, err
	}
	if a.Canonical, err = plan.ParseArguments(raw); err != nil {
		return Arguments{}, errUnreadable // that error may quote a character
	}
	text := []byte(a.Canonical.Text())
	shown, err := redaction.JSON(text)
	if err == nil && !bytes.Equal(shown, text) {
		shown, err = canonical.Transform(shown) // of another spelling at least
	}
	switch {
	case err != nil:
		return Arguments{}, errUnreadable
	case len(shown) > maxShown:
		a.Incomplete = true
	default:
		a.Shown, a.Incomplete = shown, !bytes.Equal(shown, text)
	}
	return a, nil
}

var errUnreadable = errors.New("arguments must be a JSON object that everyone reads alike")
