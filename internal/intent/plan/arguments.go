package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
)

// Arguments are the arguments of a call in canonical form. Two values are equal if
// their canonical texts are: 1, 1.0 and 1e0 are one number, and the order of keys does
// not matter.
type Arguments struct {
	text    string
	members []argument // sorted by key, as canonical JSON is
}

// argument is one member: its key decoded, its value in canonical JSON.
type argument struct{ key, value string }

// ParseArguments reads the arguments of a call. No bytes, or null, are an empty
// object. The error shows no value.
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
		return Arguments{}, errors.New("arguments must be a JSON object")
	}
	return split(string(text)), nil
}

// Text is the arguments in canonical JSON. Digests are made of it.
func (a Arguments) Text() string {
	if a.text == "" {
		return "{}"
	}
	return a.text
}

// find is the value of one argument. A linear search would be quadratic for a hostile
// plan and call with many arguments.
func (a Arguments) find(key string) (value string, ok bool) {
	i, ok := slices.BinarySearchFunc(a.members, key, func(m argument, key string) int {
		return strings.Compare(m.key, key)
	})
	if !ok {
		return "", false
	}
	return a.members[i].value, true
}

// split cuts a canonical object into its members. Canonical text has no whitespace
// outside strings.
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

// skipValue is the end of the canonical value that begins at i.
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

// skipString is the end of the string that begins at i.
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
		return quoted // impossible: it was parsed before
	}
	return string(plain)
}

// Arguments are those that the step fixes, as a call would send them.
func (s *Step) Arguments() Arguments { return split(string(s.appendArguments(nil))) }

func (s *Step) appendArguments(b []byte) []byte {
	b = append(b, '{')
	for i, c := range s.Given {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(appendQuoted(b, c.Key), ':'), c.Equal...)
	}
	return append(b, '}')
}
