package api

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

// strictJSON reads and writes bodies. It matches member names exactly and
// refuses duplicate names and invalid UTF-8: with a lenient decoder a value
// other than the one that was validated could reach a handler.
var strictJSON = huma.Format{
	Marshal: marshal,
	Unmarshal: func(data []byte, v any) error {
		if err := json.Unmarshal(data, v); err != nil {
			return errors.New(describe(err))
		}
		return nil
	},
}

// selfWriter is a body that writes itself.
type selfWriter interface {
	writeJSON(w *bufio.Writer) error
}

// buffers gather an answer into few writes: the encoder makes one every four kilobytes.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

func marshal(w io.Writer, v any) (err error) {
	buffer := buffers.Get().(*bufio.Writer)
	defer buffers.Put(buffer)
	buffer.Reset(w)
	defer buffer.Reset(nil) // it must not keep the connection
	if body, ok := v.(selfWriter); ok {
		err = body.writeJSON(buffer)
	} else {
		err = json.MarshalWrite(buffer, v)
	}
	if err != nil {
		return err
	}
	return buffer.Flush()
}

// describe says what is wrong with a JSON text and where, without quoting it.
func describe(err error) string {
	if text, ok := errors.AsType[errorText](err); ok {
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

// readObject reads a body that is one JSON object, strictly.
func readObject(body []byte, to any) error {
	if jsontext.Value(body).Kind() != jsontext.KindBeginObject {
		return errNoObject
	}
	return json.Unmarshal(body, to)
}
