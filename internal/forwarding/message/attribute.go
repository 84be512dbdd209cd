package message

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// maxDepth is how deep JSON values are sent as values; deeper ones are sent as text.
const maxDepth = 16

// Attributes are named values. If a name is added twice, the first value stays. The zero value is empty.
type Attributes struct {
	pairs   []*common.KeyValue
	names   map[string]bool
	size    int
	dropped int
}

// String adds a text unless it is empty.
func (a *Attributes) String(name, value string) {
	if value != "" {
		a.add(name, text(value))
	}
}

// Int adds an integer.
func (a *Attributes) Int(name string, n int64) { a.add(name, integer(n)) }

// Double adds a floating-point number.
func (a *Attributes) Double(name string, n float64) { a.add(name, double(n)) }

// Bool adds a boolean.
func (a *Attributes) Bool(name string, is bool) { a.add(name, boolean(is)) }

// JSON adds any JSON value but null. A value that is too long or too deep is added as the beginning of its text;
// invalid JSON is dropped.
func (a *Attributes) JSON(name string, value jsontext.Value) {
	if value.Kind() == 'n' {
		return
	}
	decoded, ok := readValue(jsonDecoder(value), maxDepth)
	switch {
	case ok && proto.Size(decoded) <= MaxValue:
		a.add(name, decoded)
	case value.IsValid():
		a.add(name, text(string(value)))
	default:
		a.dropped++
	}
}

// Members adds each member of a JSON object under its own name. A name that is reserved, or below the reserved one,
// gets a prefix.
func (a *Attributes) Members(object []byte, reserved string) {
	d := jsonDecoder(object)
	if first, err := d.ReadToken(); err != nil || first.Kind() != '{' {
		return
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return
		}
		key := name.String() // the next read invalidates the token
		value, err := d.ReadValue()
		if err != nil {
			return
		}
		if isBelow(key, reserved) {
			key = "client." + key
		}
		a.JSON(key, value)
	}
}

// isBelow compares names as receivers do: some ignore case, and some turn an object a with a member b into a.b.
func isBelow(name, top string) bool {
	first, _, _ := strings.Cut(name, ".")
	return strings.EqualFold(strings.TrimSpace(first), top)
}

func (a *Attributes) add(name string, value *common.AnyValue) {
	name = cut(name, MaxName)
	if name == "" || a.names[name] {
		return
	}
	pair := &common.KeyValue{Key: name, Value: value}
	size := proto.Size(pair)
	if a.size+size > MaxAttributes {
		a.dropped++
		return
	}
	if a.names == nil {
		a.names = map[string]bool{}
	}
	a.names[name] = true
	a.size += size
	a.pairs = append(a.pairs, pair)
}

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: cut(s, MaxValue)}}
}

func integer(n int64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}
}

func double(n float64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: n}}
}

func boolean(is bool) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: is}}
}

func jsonDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
}

func readValue(d *jsontext.Decoder, depth int) (*common.AnyValue, bool) {
	if depth == 0 {
		return nil, false
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, false
	}
	switch token.Kind() {
	case '"':
		return text(token.String()), true
	case '0':
		return number(token.String()), true
	case 't', 'f':
		return boolean(token.Bool()), true
	case '[':
		return readArray(d, depth)
	case '{':
		return readObject(d, depth)
	}
	return &common.AnyValue{}, true // null
}

// number keeps integers exact where the protocol can, and numbers beyond a double as text.
func number(literal string) *common.AnyValue {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return integer(n)
	}
	if n, err := strconv.ParseFloat(literal, 64); err == nil {
		return double(n)
	}
	return text(literal)
}

func readArray(d *jsontext.Decoder, depth int) (*common.AnyValue, bool) {
	array := &common.ArrayValue{}
	for d.PeekKind() != ']' {
		value, ok := readValue(d, depth-1)
		if !ok {
			return nil, false
		}
		array.Values = append(array.Values, value)
	}
	_, err := d.ReadToken()
	return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: array}}, err == nil
}

func readObject(d *jsontext.Decoder, depth int) (*common.AnyValue, bool) {
	list := &common.KeyValueList{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		key := cut(name.String(), MaxName)
		value, ok := readValue(d, depth-1)
		if !ok {
			return nil, false
		}
		list.Values = append(list.Values, &common.KeyValue{Key: key, Value: value})
	}
	_, err := d.ReadToken()
	return &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: list}}, err == nil
}
