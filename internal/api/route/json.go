package route

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// strictJSON reads and writes bodies. It matches member names exactly and refuses duplicate names and invalid UTF-8:
// with a lenient decoder a value other than the one that was validated could reach a handler.
var strictJSON = huma.Format{
	Marshal: Marshal,
	Unmarshal: func(data []byte, v any) error {
		if err := json.Unmarshal(data, v); err != nil {
			return errors.New(Describe(err))
		}
		return nil
	},
}

// SelfWriter is a body that writes itself, because it is large and often read.
type SelfWriter interface {
	WriteJSON(w *bufio.Writer) error
}

// buffers gather an answer into few writes: the encoder makes one every four kilobytes.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// Marshal writes a body as it is answered.
func Marshal(w io.Writer, v any) (err error) {
	buffer := buffers.Get().(*bufio.Writer)
	defer buffers.Put(buffer)
	buffer.Reset(w)
	defer buffer.Reset(nil) // it must not keep the connection
	if body, ok := v.(SelfWriter); ok {
		err = body.WriteJSON(buffer)
	} else {
		err = json.MarshalWrite(buffer, v, json.Deterministic(true)) // the same answer has the same bytes
	}
	if err != nil {
		return err
	}
	return buffer.Flush()
}

// BodyError says what is wrong with a body; Describe shows it as it is.
type BodyError string

func (e BodyError) Error() string { return string(e) }

// ErrNoObject: the body is not one JSON object.
const ErrNoObject BodyError = "is not one JSON object"

// Describe says what is wrong with a JSON text and where, without quoting it.
func Describe(err error) string {
	if text, ok := errors.AsType[BodyError](err); ok {
		return string(text)
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		what := "is not valid JSON"
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			what = "has a member twice"
		case strings.Contains(syntax.Err.Error(), "UTF-8"):
			what = "is not valid UTF-8"
		}
		return fmt.Sprintf("%s (at byte %d)", what, syntax.ByteOffset)
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Sprintf("has a value of the wrong type at %q", string(semantic.JSONPointer))
	}
	return "is not valid JSON"
}

// ReadObject reads a body that is one JSON object, strictly.
func ReadObject(body []byte, to any) error {
	if jsontext.Value(body).Kind() != jsontext.KindBeginObject {
		return ErrNoObject
	}
	return json.Unmarshal(body, to)
}

// FieldOf is the member of a body that has the wrong type; body if the error does not say.
func FieldOf(err error) string {
	field := "body"
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok && semantic.JSONPointer != "" {
		field, _, _ = strings.Cut(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/")
	}
	return field
}
