package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errDuplicate: two readers could take such an object for different ones.
var errDuplicate = errors.New("it has a member twice")

// readMembers reads an object and gives its members as they are written.
func readMembers(text []byte) (map[string]json.RawMessage, error) {
	if err := Walk(text, func(string) {}); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("it begins with something else")
	}
	members := map[string]json.RawMessage{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		members[name.(string)] = value
	}
	return members, nil
}

// Walk shows every text in a JSON value to visit, names of members too, wherever it is. It fails if the value is not
// whole, is nested too deep, has something behind it, or has an object with a member twice.
func Walk(text []byte, visit func(string)) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := walk(decoder, visit, 0); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something is behind it")
	}
	return nil
}

func walk(decoder *json.Decoder, visit func(string), depth int) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	if depth > MaxDepth {
		return fmt.Errorf("it is nested more than %d times", MaxDepth)
	}
	switch token := token.(type) {
	case string:
		visit(token)
	case json.Delim:
		return walkInside(decoder, token, visit, depth)
	}
	return nil
}

func walkInside(decoder *json.Decoder, begin json.Delim, visit func(string), depth int) error {
	var names map[string]bool
	if begin == '{' {
		names = map[string]bool{}
	}
	for decoder.More() {
		if names != nil {
			name, err := decoder.Token()
			if err != nil {
				return err
			}
			if names[name.(string)] {
				return errDuplicate
			}
			names[name.(string)] = true
			visit(name.(string))
		}
		if err := walk(decoder, visit, depth+1); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}
