package decode

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// raw is a JSON value as it was sent, or empty if there was none. It is a string because attributes are stored as one:
// they are copied once.
type raw string

// UnmarshalJSONFrom takes the next value, which the decoder has checked.
func (r *raw) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	*r = raw(value)
	return err
}

// kind is the first character of the value, '0' for any number, and 0 without a value.
func (r raw) kind() byte {
	switch {
	case r == "":
		return 0
	case r[0] == '-' || '0' <= r[0] && r[0] <= '9':
		return '0'
	}
	return r[0]
}

// eachMember calls do for the members of an object that was checked with its batch: it is valid, and no name is in it
// twice. Values are skipped at the speed of finding their quotes, which a decoder cannot do.
func eachMember(object raw, do func(name string, value raw)) {
	if object.kind() != '{' {
		return
	}
	text := string(object)
	at := skipSpace(text, 1)
	for text[at] == '"' {
		end := skipString(text, at)
		name := unquoted(raw(text[at:end]))
		at = skipSpace(text, skipSpace(text, end)+1) // past the colon
		end = skipValue(text, at)
		do(name, raw(text[at:end]))
		if at = skipSpace(text, end); text[at] == ',' {
			at = skipSpace(text, at+1)
		}
	}
}

// skipSpace returns where the next token begins.
func skipSpace(text string, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r' {
		at++
	}
	return at
}

// skipString returns the end of the string that begins here.
func skipString(text string, at int) int {
	begin := at + 1
	for at = begin; ; at++ {
		at += strings.IndexByte(text[at:], '"')
		escapes := 0
		for at-escapes > begin && text[at-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
}

// skipValue returns the end of the value that begins here.
func skipValue(text string, at int) int {
	switch text[at] {
	case '"':
		return skipString(text, at)
	case '{', '[':
		return skipNested(text, at)
	}
	for {
		switch text[at] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return at
		}
		at++
	}
}

// skipNested returns the end of the object or array that begins here.
func skipNested(text string, at int) int {
	for depth := 0; ; {
		switch text[at] {
		case '"':
			at = skipString(text, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if at++; depth == 0 {
			return at
		}
	}
}
