package spelling

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
)

func quoted(text string) jsontext.Value {
	raw, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return jsontext.Value(`""`) // impossible: it was read from JSON
	}
	return raw
}

// members are those of an object, in their order.
type members []member

type member struct {
	name  string
	value jsontext.Value
}

// read splits an object. What two readers could read differently is none.
func read(object jsontext.Value) (list members, ok bool) {
	if object.Kind() != jsontext.KindBeginObject {
		return nil, false
	}
	in := jsontext.NewDecoder(bytes.NewBuffer(object))
	if _, err := in.ReadToken(); err != nil {
		return nil, false
	}
	for in.PeekKind() == jsontext.KindString {
		name, err := in.ReadToken()
		if err != nil {
			return nil, false
		}
		text := name.String()
		value, err := in.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, member{text, value.Clone()})
	}
	if _, err := in.ReadToken(); err != nil {
		return nil, false
	}
	_, err := in.ReadToken()
	return list, err == io.EOF
}

func (m members) has(name string) bool {
	return slices.ContainsFunc(m, func(one member) bool { return one.name == name })
}

// name is a text that says something.
func (m members) name(name string) (text string, ok bool) {
	for _, one := range m {
		if one.name == name && one.value.Kind() == jsontext.KindString && json.Unmarshal(one.value, &text) == nil {
			text = strings.TrimSpace(text)
			return text, text != ""
		}
	}
	return "", false
}

// take removes a member and gives its value; nil: there was none.
func (m *members) take(name string) jsontext.Value {
	for i, one := range *m {
		if one.name == name {
			*m = slices.Delete(*m, i, i+1)
			return one.value
		}
	}
	return nil
}

func (m *members) put(name string, value jsontext.Value) { *m = append(*m, member{name, value}) }

func (m members) find(name string) jsontext.Value {
	for _, one := range m {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// drop removes the members of these names but one.
func (m *members) drop(names []string, but string) {
	*m = slices.DeleteFunc(*m, func(one member) bool { return one.name != but && slices.Contains(names, one.name) })
}

// same reports whether two values are the same text, spaces around it aside, or the same JSON.
func same(a, b jsontext.Value) bool {
	if a.Kind() == jsontext.KindString {
		var one, other string
		return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil &&
			strings.TrimSpace(one) == strings.TrimSpace(other)
	}
	one, err := canonical.Transform(a)
	if err != nil {
		return false
	}
	other, err := canonical.Transform(b)
	return err == nil && bytes.Equal(one, other)
}

func (m members) text() jsontext.Value {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, one := range m {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(quoted(one.name))
		out.WriteByte(':')
		out.Write(one.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}
