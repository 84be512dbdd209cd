// Package redaction removes secrets from what agents send, before any of it is stored or shown.
//
// A secret is known by its name (password, api_key, Authorization, ...) or by its form (a bearer token, a private key,
// a card number, one of our keys, ...). Names are compared word by word, so that tokenizer, secretary and discard are
// not secrets. Forms are RE2 patterns, which no input can make slow. A secret becomes [Mark].
//
// The structure of JSON stays: objects keep their keys in order, arrays keep their length; true, false and null stay.
// Only strings, and numbers that are secrets, become the mark. Redacting twice changes nothing more.
//
// Redaction is a net, not a proof: a secret that has neither a known name nor a known form passes. Exact texts are
// therefore stored sealed, and only redacted copies are shown.
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

// Mark replaces a secret.
const Mark = "[redacted]"

// maxDepth is how many arrays and objects may be nested.
const maxDepth = 256

// JSON returns a JSON text without its secrets. Numbers keep their spelling. Text that is not strict JSON (duplicate
// keys, invalid UTF-8, data after the value) is refused: it would be unclear which value has which name.
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
	keys  int // number of the last key that was made distinct
}

// walkers reuses those that succeeded: what they have allocated for names and nesting is half of the work. One that
// has seen a long text is dropped, with what it holds of it.
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

// container copies an array or object. A secret name covers all of its content.
func (w *walker) container(kind jsontext.Kind, about sensitivity) error {
	if err := w.copyToken(); err != nil {
		return err
	}
	var beside neighbor
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

// key copies an object's next key, and returns what it says about the value. A key can itself be a secret (a map from
// tokens to users); then it gets a number, so that two keys of an object do not become the same.
func (w *walker) key(beside *neighbor) (sensitivity, error) {
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

// readError is a decoder's error without the path of keys, which may be secrets.
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

// Text returns a text without the secrets that are known by their form, or by a name in front of them (password=...,
// token: ...).
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
