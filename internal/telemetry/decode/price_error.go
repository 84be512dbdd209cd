package decode

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// kindWords are the kinds of JSON values in words.
var kindNames = map[jsontext.Kind]string{
	'n': "null", 'f': "a truth value", 't': "a truth value", '"': "a text", '0': "a number", '{': "an object",
	'[': "a list",
}

// misread says in the words of who writes a price file, and not in those of the
// program, what is wrong with it and where.
func describeError(text []byte, err error) error {
	if meant, ok := errors.AsType[*json.SemanticError](err); ok {
		at := position(text, meant.ByteOffset, meant.JSONPointer)
		switch kind := kindNames[meant.JSONKind]; {
		case errors.Is(err, json.ErrUnknownName):
			return fmt.Errorf("read the price file: %s: no such member is known", at)
		case kind != "":
			return fmt.Errorf("read the price file: %s: it must not be %s", at, kind)
		}
		return fmt.Errorf("read the price file: %s: it is not of the form of a price file", at)
	}
	if written, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("read the price file: %s: %w", position(text, written.ByteOffset, written.JSONPointer),
			written.Err)
	}
	return fmt.Errorf("read the price file: %w", err)
}

// place is where in a file something is: the line, and the member, if it is in one.
func position(text []byte, offset int64, pointer jsontext.Pointer) string {
	before := text[:min(max(offset, 0), int64(len(text)))]
	line := fmt.Sprintf("line %d", 1+bytes.Count(before, []byte("\n")))
	if pointer == "" {
		return line
	}
	return line + ", " + string(pointer)
}
