// Package arguments reads the arguments of a call once, in three forms: decoded values for
// conditions, canonical text for plans, and redacted text for people.
package arguments

import (
	"bytes"
	"errors"

	"writ/internal/canonical"
	"writ/internal/intent/plan"
	"writ/internal/redaction"
	"writ/internal/toolcall"
)

// maxShown is how many bytes of redacted arguments are stored. A longer text is stored as its digest only.
const maxShown = 64 << 10

// Arguments are the arguments of a call.
type Arguments struct {
	Decoded    map[string]any
	Canonical  plan.Arguments
	Shown      []byte // what people may see, as canonical JSON; nil: too long to be stored
	Incomplete bool   // Shown lacks something
}

// Read reads arguments. An empty text and null are no arguments. Errors reveal no values.
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
		shown, err = canonical.Transform(shown) // redaction may spell values differently
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
