package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
)

// Arguments are the arguments of a call in canonical form. Two values are equal
// when their canonical texts are, so that 1, 1.0 and 1e0 are one number and the
// order of keys means nothing.
type Arguments struct {
	text    string
	members []argument // sorted by key, as canonical JSON is
}

// argument is one member: its key decoded, its value in canonical JSON.
type argument struct{ key, value string }

// errNotObject: arguments are always an object.
var errNotObject = errors.New("arguments must be a JSON object")

// ParseArguments reads the arguments of a call. Absent ones, of no bytes or
// null, are an empty object. The error shows no value.
func ParseArguments(raw []byte) (Arguments, error) {
	if len(raw) == 0 {
		return Arguments{text: "{}"}, nil
	}
	text, err := canonical.Transform(raw)
	if err != nil {
		return Arguments{}, fmt.Errorf("arguments: %w", err)
	}
	if string(text) == "null" {
		return Arguments{text: "{}"}, nil
	}
	if text[0] != '{' {
		return Arguments{}, errNotObject
	}
	return split(string(text)), nil
}

// Text is the arguments in canonical JSON, over which digests are made.
func (a Arguments) Text() string {
	if a.text == "" {
		return "{}"
	}
	return a.text
}

// find is the value of one argument. It halves, because a hostile plan of many
// arguments would else be compared with a hostile call of many, each with each.
func (a Arguments) find(key string) (value string, ok bool) {
	i, ok := slices.BinarySearchFunc(a.members, key, func(m argument, key string) int {
		return strings.Compare(m.key, key)
	})
	if !ok {
		return "", false
	}
	return a.members[i].value, true
}

// split cuts a canonical object into its members. Canonical text has no space,
// and no comma, colon or bracket outside a string but those of the structure.
func split(text string) Arguments {
	a := Arguments{text: text}
	for i := 1; i < len(text) && text[i] != '}'; {
		end := skipString(text, i)
		key := unquote(text[i:end])
		start := end + 1 // after the colon
		end = skipValue(text, start)
		a.members = append(a.members, argument{key, text[start:end]})
		if i = end; i < len(text) && text[i] == ',' {
			i++
		}
	}
	return a
}

// skipValue is where the canonical value that begins at i ends.
func skipValue(text string, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// skipString is where the string that begins at i ends.
func skipString(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return i
}

// unquote is the text of a valid JSON string.
func unquote(quoted string) string {
	if !strings.Contains(quoted, `\`) {
		return quoted[1 : len(quoted)-1]
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return quoted // cannot be: it was read before; and no name or key looks so
	}
	return string(plain)
}

// Arguments are those the step gives, as a call would send them.
func (s *Step) Arguments() Arguments {
	var b strings.Builder
	b.WriteByte('{')
	for i, c := range s.Given {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quoted(c.Key))
		b.WriteByte(':')
		b.WriteString(c.Equal)
	}
	b.WriteByte('}')
	return split(b.String())
}
