package toolcall

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a call's arguments.
const (
	MaxArguments = 1 << 20 // bytes of their JSON
	MaxDepth     = 64      // lists and objects within each other, the arguments included
)

// Decode reads a call's arguments: one JSON object. An empty text and null are no arguments. A number without fraction
// or exponent that fits is an int64, every other a float64.
//
// It refuses what parsers read differently: a name given twice, bad UTF-8, anything after the object, a number too
// large for a float. Errors reveal neither values nor names, which an agent could have made up.
func Decode(text []byte) (map[string]any, error) {
	if len(text) > MaxArguments {
		return nil, fmt.Errorf("arguments must be at most %d bytes", MaxArguments)
	}
	if len(bytes.Trim(text, " \t\r\n")) == 0 {
		return map[string]any{}, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	value, err := decodeValue(d, 1)
	if err != nil {
		return nil, fmt.Errorf("read arguments: %w", quiet(err, d.InputOffset()))
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("arguments must be one JSON object: something follows it")
	}
	switch value := value.(type) {
	case map[string]any:
		return value, nil
	case nil:
		return map[string]any{}, nil
	default:
		return nil, errors.New("arguments must be a JSON object")
	}
}

var (
	errDeep   = fmt.Errorf("must not nest deeper than %d", MaxDepth)
	errNumber = errors.New("holds a number that is too large")
)

// quiet is a decoder's error without the text that it quotes.
func quiet(err error, offset int64) error {
	switch {
	case errors.Is(err, errDeep) || errors.Is(err, errNumber):
		return err
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("a name is given twice in one object, at byte %d", offset)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the text ends too early")
	default:
		return fmt.Errorf("not JSON in UTF-8, at byte %d", offset)
	}
}

func decodeValue(d *jsontext.Decoder, depth int) (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch kind := token.Kind(); kind {
	case '[', '{':
		if depth > MaxDepth {
			return nil, errDeep
		}
		if kind == '[' {
			return decodeList(d, depth)
		}
		return decodeObject(d, depth)
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	default:
		return decodeNumber(token.String())
	}
}

func decodeList(d *jsontext.Decoder, depth int) (any, error) {
	list := []any{}
	for d.PeekKind() != ']' {
		item, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := d.ReadToken()
	return list, err
}

func decodeObject(d *jsontext.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if object[key], err = decodeValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

// decodeNumber keeps whole numbers whole.
func decodeNumber(text string) (any, error) {
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return whole, nil
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errNumber
	}
	return number, nil
}
