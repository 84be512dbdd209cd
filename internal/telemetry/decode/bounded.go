package decode

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A few bytes of a body must not become hundreds in memory: "{}," is a span, and "", a tag.

// wireSpans are the first spans of a batch, one more than it may have at most.
type wireSpans []wireSpan

// UnmarshalJSONFrom reads every span but keeps no more than it needs to refuse the batch.
func (s *wireSpans) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '[' {
		*s = wireSpans{}
	}
	return eachElement(dec, func() error {
		if len(*s) > MaxSpans {
			return dec.SkipValue()
		}
		*s = append(*s, wireSpan{})
		return json.UnmarshalDecode(dec, &(*s)[len(*s)-1])
	})
}

// texts is an array of texts as JSON; empty if there is none.
type texts string

// UnmarshalJSONFrom reads an array of texts. Null is an empty one, as elsewhere.
func (t *texts) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == 'n' {
		*t = ""
		return dec.SkipValue()
	}
	written := []byte{'['}
	err := eachElement(dec, func() error {
		if kind := dec.PeekKind(); kind != '"' && kind != 'n' {
			return json.UnmarshalDecode(dec, new(string)) // says what is wrong
		}
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if len(written) > 1 {
			written = append(written, ',')
		}
		text := ""
		if token.Kind() == '"' {
			text = token.String()
		}
		written, err = jsontext.AppendQuote(written, text)
		return err
	})
	*t = texts(append(written, ']'))
	return err
}

// eachElement calls read at each element of an array. Null has none.
func eachElement(dec *jsontext.Decoder, read func() error) error {
	switch dec.PeekKind() {
	case 'n':
		return dec.SkipValue()
	case '[':
	default:
		return json.UnmarshalDecode(dec, new([]string)) // says what is wrong
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}
