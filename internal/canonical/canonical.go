// Package canonical owns the one JSON form that Writ signs, hashes and audits.
//
// Two texts with the same meaning have the same canonical form, so a signature or a
// digest over it does not depend on which library wrote the JSON, or in which order. The
// form is ASCII:
//
//   - object keys in code point order at every level, no spaces;
//   - in strings, \b \t \n \f \r \" \\ for those characters, \u00xx for other
//     controls and U+007F, lower-case \uxxxx (surrogate pairs above U+FFFF) for
//     everything that is not ASCII, and nothing else escaped;
//   - numbers by value: an integer, however written, is its exact digits
//     (100, 100.0 and 1e2 are 100; -0 is 0), any other decimal is the shortest
//     text that reads back as the same float64, as JavaScript prints it.
//
// The input is not trusted. Texts whose meaning depends on the reader (duplicate keys,
// invalid UTF-8, lone surrogates, anything after the value) are refused, and so are texts
// made to be expensive (nesting beyond [MaxDepth], integers beyond [MaxIntegerDigits],
// growth by exponents). Errors give the kind of problem and its position; of the text
// they show at most the character or escape that cannot be read, never a key or a value.
package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how many arrays and objects may be open at once. It bounds the recursion.
const MaxDepth = 256

// Escapes make a text at most six times longer. Exponents can do far worse
// (1e999 is a thousand digits), so the output may grow only so far.
const (
	maxGrowth = 8
	freeBytes = 64 << 10
)

// Transform gives the canonical form of one JSON text. It does not change or
// keep raw.
func Transform(raw []byte) ([]byte, error) {
	w := &writer{
		raw: raw,
		// Duplicate keys are found while sorting, which spares the decoder a
		// set of names for each object.
		dec:     jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true)),
		out:     make([]byte, 0, len(raw)),
		limit:   maxGrowth*len(raw) + freeBytes,
		members: make([]member, 0, 16), // enough for most texts
	}
	if err := w.value(0); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	end := w.dec.InputOffset()
	if _, err := w.dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("canonical JSON: data after the value, from byte %d", end)
	}
	return w.out, nil
}

// Marshal gives the canonical form of a Go value, encoded by the rules of
// JSON v2: a nil slice is [], a nil map is {}.
func Marshal(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: encode %T: %w", v, err)
	}
	return Transform(raw)
}

// readError is a decoder's error without the keys that lead to its position.
func readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("unexpected end of text")
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && syntax.Err != nil {
		return fmt.Errorf("%w at byte %d", syntax.Err, syntax.ByteOffset)
	}
	return fmt.Errorf("read: %w", err)
}
