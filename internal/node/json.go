package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ReadJSON reads one JSON value. It refuses duplicate names, bad UTF-8 and anything
// after the value.
func ReadJSON(text []byte) (*Node, []Problem) {
	l, found := clean(text)
	if found != nil {
		return nil, found
	}
	r := &jsonReader{lines: l, decoder: jsontext.NewDecoder(bytes.NewReader(l.text))}
	root, err := r.value(0)
	if err == nil {
		r.next()
		if _, err = r.decoder.ReadToken(); err == io.EOF {
			return root, nil
		}
		if err == nil {
			err = &syntaxError{r.start, "must be one JSON value: this is a second"}
		}
	}
	return nil, []Problem{r.problem(err)}
}

type jsonReader struct {
	lines   *lines
	decoder *jsontext.Decoder
	start   int // offset of the token being read
}

// syntaxError is a problem at an offset of the text.
type syntaxError struct {
	offset  int
	message string
}

func (e *syntaxError) Error() string { return e.message }

func (r *jsonReader) problem(err error) Problem {
	if ours, ok := errors.AsType[*syntaxError](err); ok {
		return Problem{r.lines.at(ours.offset), ours.message}
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return Problem{r.lines.at(len(r.lines.text)), "must be a whole JSON value: the text ends too early"}
	case ok && errors.Is(err, jsontext.ErrDuplicateName):
		return Problem{
			r.lines.at(r.start), fmt.Sprintf("the name %q is given twice", Shown(syntax.JSONPointer.LastToken())),
		}
	case ok:
		return Problem{r.lines.at(int(syntax.ByteOffset)), "must be JSON: " + Shown(syntax.Err.Error())}
	default:
		return Problem{r.lines.at(r.start), "must be JSON"}
	}
}

// next moves start to the beginning of the next token, past spaces and the comma or
// colon that the decoder checks.
func (r *jsonReader) next() {
	r.start = int(r.decoder.InputOffset())
	for r.start < len(r.lines.text) && strings.IndexByte(" \t\n\r,:", r.lines.text[r.start]) >= 0 {
		r.start++
	}
}

func (r *jsonReader) value(depth int) (*Node, error) {
	r.next()
	n := &Node{At: r.lines.at(r.start)}
	token, err := r.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	if depth > MaxDepth {
		return nil, &syntaxError{r.start, tooDeep}
	}
	switch token.Kind() {
	case 'n':
	case 't', 'f':
		n.Kind, n.Text = Bool, token.String()
	case '0':
		n.Kind, n.Text = Number, token.String()
	case '"':
		n.Kind, n.Text = String, token.String()
	case '[':
		n.Kind = List
		err = r.items(n, depth)
	case '{':
		n.Kind = Map
		err = r.members(n, depth)
	}
	return n, err
}

func (r *jsonReader) items(n *Node, depth int) error {
	for r.decoder.PeekKind() != ']' {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := r.decoder.ReadToken()
	return err
}

func (r *jsonReader) members(n *Node, depth int) error {
	for r.decoder.PeekKind() != '}' {
		r.next()
		start, at := r.start, r.lines.at(r.start) // at is only fast going forward
		name, err := r.decoder.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		if message := keyProblem(key, len(n.Members)); message != "" {
			return &syntaxError{start, message}
		}
		value, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Members = append(n.Members, Member{key, at, value})
	}
	_, err := r.decoder.ReadToken()
	return err
}

// keyProblem is what is wrong with one more key of a map, if anything.
func keyProblem(key string, members int) string {
	switch {
	case len(key) > maxKey:
		return fmt.Sprintf("a key must be at most %d bytes", maxKey)
	case members >= maxMembers:
		return fmt.Sprintf("a map must have at most %d keys", maxMembers)
	}
	return ""
}
