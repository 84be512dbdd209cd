package decode

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var kindNames = map[jsontext.Kind]string{
	'n': "null", 'f': "a boolean", 't': "a boolean", '"': "a string", '0': "a number", '{': "an object",
	'[': "an array",
}

// describeError says what is wrong with a price file, and where, in words for its author.
func describeError(text []byte, err error) error {
	if meant, ok := errors.AsType[*json.SemanticError](err); ok {
		at := position(text, meant.ByteOffset, meant.JSONPointer)
		switch kind := kindNames[meant.JSONKind]; {
		case errors.Is(err, json.ErrUnknownName):
			return fmt.Errorf("read the price file: %s: unknown member", at)
		case kind != "":
			return fmt.Errorf("read the price file: %s: must not be %s", at, kind)
		}
		return fmt.Errorf("read the price file: %s: does not have the format of a price file", at)
	}
	if written, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("read the price file: %s: %w", position(text, written.ByteOffset, written.JSONPointer),
			written.Err)
	}
	return fmt.Errorf("read the price file: %w", err)
}

// position is where something is in a file: the line, and the member if it is in one.
func position(text []byte, offset int64, pointer jsontext.Pointer) string {
	before := text[:min(max(offset, 0), int64(len(text)))]
	line := fmt.Sprintf("line %d", 1+bytes.Count(before, []byte("\n")))
	if pointer == "" {
		return line
	}
	return line + ", " + string(pointer)
}
