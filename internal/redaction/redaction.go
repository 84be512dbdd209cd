// Package redaction takes secrets out of what agents send, before any of it is
// stored or shown.
//
// A secret is known by the name it stands under (password, api_key,
// Authorization, ...) or by its own look (a bearer token, a private key, a card
// number, one of our keys, ...). Names are compared word by word, so that
// tokenizer, secretary and discard are no secrets; looks are patterns of RE2,
// which no input can make slow. What is taken out becomes [Mark].
//
// The shape of JSON stays: objects stay objects with their keys in order,
// arrays keep their length, true, false and null stay. Only strings, and
// numbers that are secrets, become the mark. Redacting twice changes nothing
// more, so that a text which passed two of our doors looks as if it passed one.
//
// Redaction is a net, not a proof: a secret that has neither a telling name
// nor a known look passes. Exact texts are therefore stored sealed, and only
// redacted copies are shown.
package redaction

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// maxDepth is how many arrays and objects may be open at once.
const maxDepth = 256

// JSON gives one JSON text without its secrets. Numbers keep their spelling.
// What is not strict JSON (duplicate keys, invalid UTF-8, data after the value)
// is refused: nobody could say what stands under which name.
func JSON(raw []byte) ([]byte, error) {
	w := walkers.Get().(*walker)
	out := bytes.NewBuffer(make([]byte, 0, len(raw)+16))
	w.in.Reset(bytes.NewBuffer(raw))
	w.out.Reset(out)
	w.depth, w.keys = 0, 1
	if err := w.value(notSecret); err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	if _, err := w.in.ReadToken(); err != io.EOF {
		return nil, errors.New("redact: data after the JSON value")
	}
	if len(raw) <= pooledBytes {
		walkers.Put(w)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// walker copies one JSON text, token by token.
type walker struct {
	in    *jsontext.Decoder
	out   *jsontext.Encoder
	depth int
	keys  int // number of the last key that was kept apart
}

// walkers keeps those that ended well for the next text: what they have
// allocated for names and nesting is half of the work. One that has seen a long
// text is not kept, and neither what it holds of it.
var walkers = sync.Pool{New: func() any {
	return &walker{in: jsontext.NewDecoder(new(bytes.Buffer)), out: jsontext.NewEncoder(new(bytes.Buffer))}
}}

const pooledBytes = 64 << 10

// value copies the next value; about is what the names around it say.
func (w *walker) value(about sensitivity) error {
	switch kind := w.in.PeekKind(); kind {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		if w.depth == maxDepth {
			return fmt.Errorf("nested deeper than %d levels", maxDepth)
		}
		w.depth++
		defer func() { w.depth-- }()
		return w.container(kind, about)
	default:
		return w.scalar(kind, about)
	}
}

// container copies an array or object. A secret name covers all that is in it.
func (w *walker) container(kind jsontext.Kind, about sensitivity) error {
	if err := w.copyToken(); err != nil {
		return err
	}
	var beside neighbour
	for {
		next := w.in.PeekKind()
		if next == jsontext.KindEndObject || next == jsontext.KindEndArray {
			return w.copyToken()
		}
		inner := about
		if kind == jsontext.KindBeginObject {
			name, err := w.key(&beside)
			if err != nil {
				return err
			}
			inner = max(about, name)
		}
		if next = w.in.PeekKind(); next == jsontext.KindString {
			if err := w.stringBesideName(&beside, kind, inner); err != nil {
				return err
			}
			continue
		}
		if err := w.value(max(inner, beside.take(kind))); err != nil {
			return err
		}
	}
}

// key copies an object's next key, and says what it tells. A key can itself look like a secret (a map
// from tokens to users); it is then kept apart by a number, for two keys of one
// object must not become the same.
func (w *walker) key(beside *neighbour) (sensitivity, error) {
	quoted, err := w.in.ReadValue()
	if err != nil {
		return notSecret, readError(err)
	}
	beside.at(quoted)
	if !suspicious(quoted) && !holdsStem(quoted) {
		return notSecret, w.out.WriteValue(quoted)
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return notSecret, readError(err)
	}
	key := string(plain)
	shown := Text(key)
	err = w.out.WriteToken(jsontext.String(shown))
	for tries := 0; err != nil && shown != key && tries < 1000; tries++ {
		w.keys++
		err = w.out.WriteToken(jsontext.String(fmt.Sprintf("%s %d", shown, w.keys)))
	}
	return nameSensitivity(key), readError(err)
}

func (w *walker) scalar(kind jsontext.Kind, about sensitivity) error {
	text, err := w.in.ReadValue()
	if err != nil {
		return readError(err)
	}
	switch kind {
	case jsontext.KindString:
		return w.string(text, about)
	case jsontext.KindNumber:
		if about == secretName || isCard(string(text)) {
			return w.out.WriteToken(jsontext.String(Mark))
		}
	}
	return w.out.WriteValue(text)
}

func (w *walker) string(quoted []byte, about sensitivity) error {
	if about == notSecret && !suspicious(quoted) {
		return w.out.WriteValue(quoted)
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return readError(err)
	}
	text := string(plain)
	if about != notSecret && text != "" {
		return w.out.WriteToken(jsontext.String(Mark))
	}
	if shown := Text(text); shown != text {
		return w.out.WriteToken(jsontext.String(shown))
	}
	return w.out.WriteValue(quoted)
}

func (w *walker) copyToken() error {
	token, err := w.in.ReadToken()
	if err != nil {
		return readError(err)
	}
	return w.out.WriteToken(token)
}

// readError tells a decoder's error without the keys that lead to its place,
// which may be secrets.
func readError(err error) error {
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && syntax.Err != nil {
		return fmt.Errorf("%w at byte %d", syntax.Err, syntax.ByteOffset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("unexpected end of text")
	}
	return err
}

// Text gives a text without the secrets that show by their look, or by a name
// written before them (password=..., token: ...).
func Text(text string) string {
	if !suspicious(text) {
		return text
	}
	lower := strings.ToLower(text)
	for i := range rules {
		if rules[i].mayMatch(lower) {
			text = rules[i].apply(text)
		}
	}
	return withoutCards(text)
}
