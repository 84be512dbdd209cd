package otlp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder reads OTLP's form of JSON: names in lowerCamelCase, ids in hex, enums as numbers, 64-bit numbers as texts or
// numbers, unknown names ignored.
type decoder struct {
	*jsontext.Decoder
	*reader
}

// readJSON reads an ExportTraceServiceRequest in JSON.
func (r *reader) readJSON(body []byte) error {
	d := decoder{jsontext.NewDecoder(bytes.NewBuffer(body)), r}
	err := d.object(func(name string) error {
		if name == "resourceSpans" {
			return d.array(d.resourceSpans)
		}
		return d.SkipValue()
	})
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.Join(errNotOTLP, err)
	}
	if isSyntax(err) {
		return malformed(err)
	}
	return err
}

// errNotOTLP means JSON with types that are not OTLP's.
var errNotOTLP = errors.New("not in the format of OTLP")

func isSyntax(err error) bool {
	if _, is := errors.AsType[*jsontext.SyntacticError](err); is {
		return true
	}
	return errors.Is(err, errNotOTLP) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// object calls do with the name of each member; do reads the value. Null is an empty object.
func (d decoder) object(do func(name string) error) error {
	return d.container('{', '}', func() error {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		return do(token.String())
	})
}

// array calls do for each element; do reads it.
func (d decoder) array(do func() error) error { return d.container('[', ']', do) }

func (d decoder) container(begin, end jsontext.Kind, each func() error) error {
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case begin:
	default:
		return d.wrongType()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != end {
		if d.PeekKind() == 0 { // no value at all
			_, err := d.ReadToken()
			return errors.Join(errNotOTLP, err)
		}
		if err := each(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// wrongType refuses a value. If there is no valid value at all, it adds the decoder's reason.
func (d decoder) wrongType() error {
	_, err := d.ReadToken()
	return errors.Join(errNotOTLP, err)
}

// text reads a string into the arena; null is nil.
func (d decoder) text() ([]byte, error) {
	switch d.PeekKind() {
	case 'n':
		return nil, d.SkipValue()
	case '"':
	default:
		return nil, d.wrongType()
	}
	quoted, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	start := len(d.arena)
	d.arena, err = jsontext.AppendUnquote(d.arena, quoted)
	return d.arena[start:], err
}

// hex reads an id. If it is not hex, the id gets a wrong length, so that only its span is refused.
func (d decoder) hex() ([]byte, error) {
	text, err := d.text()
	if err != nil || len(text) == 0 {
		return nil, err
	}
	id, err := hex.AppendDecode(nil, text)
	if err != nil {
		return []byte("?"), nil
	}
	return id, nil
}

// number reads a whole number, which may be written as a text.
func (d decoder) number() (text string, err error) {
	switch d.PeekKind() {
	case 'n':
		return "0", d.SkipValue()
	case '"':
		text, err := d.text()
		return string(text), err
	case '0':
		value, err := d.ReadValue()
		return string(value), err
	}
	return "", d.wrongType()
}

// parsed reads a number and parses its text.
func parsed[T any](d decoder, parse func(text string) (T, error)) (n T, err error) {
	text, err := d.number()
	if err != nil {
		return n, err
	}
	if n, err = parse(text); err != nil {
		return n, errors.Join(errNotOTLP, err)
	}
	return n, nil
}

func parseInt(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func (d decoder) unsigned() (uint64, error) {
	return parsed(d, func(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) })
}

// enum reads a number of an enum. OTLP does not allow names, but some exporters write them.
func (d decoder) enum(names map[string]int64) (int64, error) {
	return parsed(d, func(text string) (int64, error) {
		if n, known := names[text]; known {
			return n, nil
		}
		return parseInt(text)
	})
}
