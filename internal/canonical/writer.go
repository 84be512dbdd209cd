package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// writer reads one JSON text and writes its canonical form in a single pass. It sorts the
// members of an object when the object ends, unless they are in order already.
type writer struct {
	raw   []byte
	dec   *jsontext.Decoder
	out   []byte
	limit int // the most bytes that out may hold after a number

	members []member // of all open objects, innermost last
	decoded []byte   // keys and strings that are not plain, without escapes
	sorted  []byte   // scratch for reordering
}

// member is a key and where `"key":value,` stands in the output.
type member struct {
	key        []byte // decoded; belongs to writer.raw or writer.decoded
	start, end int
}

// value writes the next value, inside depth open arrays and objects.
func (w *writer) value(depth int) error {
	kind := w.dec.PeekKind()
	if kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray {
		if depth == MaxDepth {
			return fmt.Errorf("nested deeper than %d levels", MaxDepth)
		}
		if kind == jsontext.KindBeginObject {
			return w.object(depth + 1)
		}
		return w.array(depth + 1)
	}

	text, err := w.dec.ReadValue()
	if err != nil {
		return readError(err)
	}
	switch kind {
	case jsontext.KindString:
		return w.string(text)
	case jsontext.KindNumber:
		return w.number(text)
	default: // null, false or true
		w.out = append(w.out, text...)
		return nil
	}
}

func (w *writer) array(depth int) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return readError(err)
	}
	w.out = append(w.out, '[')
	body := len(w.out)
	for w.dec.PeekKind() != jsontext.KindEndArray {
		if err := w.value(depth); err != nil {
			return err
		}
		w.out = append(w.out, ',')
	}
	return w.close(body, ']')
}

func (w *writer) object(depth int) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return readError(err)
	}
	w.out = append(w.out, '{')
	body, first, ordered := len(w.out), len(w.members), true
	for w.dec.PeekKind() != jsontext.KindEndObject {
		start := len(w.out)
		key, err := w.key()
		if err != nil {
			return err
		}
		w.out = append(w.out, ':')
		if err := w.value(depth); err != nil {
			return err
		}
		w.out = append(w.out, ',')
		if n := len(w.members); n > first && bytes.Compare(w.members[n-1].key, key) >= 0 {
			ordered = false
		}
		w.members = append(w.members, member{key: key, start: start, end: len(w.out)})
	}
	if !ordered {
		if err := w.reorder(body, w.members[first:]); err != nil {
			return err
		}
	}
	w.members = w.members[:first]
	return w.close(body, '}')
}

// close reads the end of an array or object whose elements, each followed by a
// comma, begin at body, and writes the end in place of the last comma.
func (w *writer) close(body int, end byte) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return readError(err)
	}
	if len(w.out) > body {
		w.out = w.out[:len(w.out)-1]
	}
	w.out = append(w.out, end)
	return nil
}

// reorder sorts the members of the object whose first member begins at body.
// UTF-8 sorts bytewise as its code points do.
func (w *writer) reorder(body int, members []member) error {
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	w.sorted = w.sorted[:0]
	for i, m := range members {
		if i > 0 && bytes.Equal(members[i-1].key, m.key) {
			return fmt.Errorf("duplicate key in the object before byte %d", w.dec.InputOffset())
		}
		w.sorted = append(w.sorted, w.out[m.start:m.end]...)
	}
	copy(w.out[body:], w.sorted)
	return nil
}

// key writes the next object key and returns it decoded.
func (w *writer) key() ([]byte, error) {
	quoted, err := w.dec.ReadValue()
	if err != nil {
		return nil, readError(err)
	}
	if isPlain(quoted) {
		w.out = append(w.out, quoted...)
		// What the decoder returned is valid only until the next read; raw stays.
		end := int(w.dec.InputOffset())
		return w.raw[end-len(quoted)+1 : end-1], nil
	}
	return w.escape(quoted)
}

func (w *writer) string(quoted []byte) error {
	if isPlain(quoted) {
		w.out = append(w.out, quoted...)
		return nil
	}
	held := len(w.decoded)
	_, err := w.escape(quoted)
	w.decoded = w.decoded[:held] // only keys are needed again
	return err
}

// escape writes a quoted string in canonical escapes and returns it decoded.
func (w *writer) escape(quoted []byte) ([]byte, error) {
	start := len(w.decoded)
	decoded, err := jsontext.AppendUnquote(w.decoded, quoted)
	if err != nil {
		return nil, readError(err)
	}
	w.decoded = decoded
	w.out = appendQuoted(w.out, decoded[start:])
	return decoded[start:], nil
}

func (w *writer) number(text []byte) error {
	out, err := appendNumber(w.out, text)
	if err != nil {
		return fmt.Errorf("%w, before byte %d", err, w.dec.InputOffset())
	}
	if len(out) > w.limit {
		return errors.New("exponents make the text too large")
	}
	w.out = out
	return nil
}
