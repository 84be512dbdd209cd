package message

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of attributes and their values, of common.proto.
const (
	keyField   = 1
	valueField = 2

	valueText   = 1
	valueBool   = 2
	valueInt    = 3
	valueDouble = 4
	valueArray  = 5
	valueList   = 6

	elements = 1 // of an array and of a list of members
)

// maxDepth is how deep values are sent as values; what is deeper is sent as text.
const maxDepth = 16

// Attributes are named values, each name once: the first stays. The zero value is
// empty.
type Attributes struct {
	encoded [][]byte // each a KeyValue
	names   map[string]bool
	size    int
	dropped int
}

// Text adds a text that is not empty.
func (a *Attributes) Text(name, value string) {
	if value != "" {
		a.add(name, text(value))
	}
}

// Int adds a number.
func (a *Attributes) Int(name string, n int64) { a.add(name, integer(n)) }

// Double adds a number.
func (a *Attributes) Double(name string, n float64) {
	a.add(name, double(n))
}

// Bool adds a truth.
func (a *Attributes) Bool(name string, is bool) { a.add(name, boolean(is)) }

// JSON adds any JSON value but null. What is too long or too deep is added as the
// beginning of its text; what is no JSON is left out.
func (a *Attributes) JSON(name string, value jsontext.Value) {
	if value.Kind() == 'n' {
		return
	}
	encoded, ok := fromJSON(value)
	switch {
	case ok && len(encoded) <= MaxValue:
		a.add(name, encoded)
	case value.IsValid():
		a.add(name, text(string(value)))
	default:
		a.dropped++
	}
}

// Members adds each member of a JSON object under its own name, but for those that
// are, or begin with, a name that is not theirs to use: these get a prefix.
func (a *Attributes) Members(object []byte, reserved string) {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if first, err := d.ReadToken(); err != nil || first.Kind() != '{' {
		return
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return
		}
		key := name.String() // before the next read makes it void
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

// isBelow reports whether a name is another or within it, as receivers compare names:
// some do not mind the case, and some make a.b of an object a with a member b.
func isBelow(name, top string) bool {
	first, _, _ := strings.Cut(name, ".")
	return strings.EqualFold(strings.TrimSpace(first), top)
}

// Drop counts something that is deliberately not sent.
func (a *Attributes) Drop(n int) { a.dropped += n }

func (a *Attributes) add(name string, value []byte) {
	name = Cut(name, MaxName)
	if name == "" || a.names[name] {
		return
	}
	pair := appendText(nil, keyField, name)
	pair = appendBytes(pair, valueField, value)
	if a.size+len(pair) > MaxAttributes {
		a.dropped++
		return
	}
	if a.names == nil {
		a.names = map[string]bool{}
	}
	a.names[name] = true
	a.size += len(pair)
	a.encoded = append(a.encoded, pair)
}

func (a *Attributes) append(out []byte, field protowire.Number) []byte {
	for _, pair := range a.encoded {
		out = appendBytes(out, field, pair)
	}
	return out
}

// text is a value. The empty text is one, too, and not the absence of any.
func text(s string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, valueText, protowire.BytesType), Cut(valid(s), MaxValue))
}

func integer(n int64) []byte { return appendNumber(nil, valueInt, uint64(n)) }

func boolean(is bool) []byte { return appendNumber(nil, valueBool, protowire.EncodeBool(is)) }

func double(n float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, valueDouble, protowire.Fixed64Type), math.Float64bits(n))
}

// fromJSON is a JSON value as one of the protocol.
func fromJSON(value jsontext.Value) ([]byte, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	return readValue(d, maxDepth)
}

func readValue(d *jsontext.Decoder, depth int) ([]byte, bool) {
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
		return number(token.String())
	case 't', 'f':
		return boolean(token.Bool()), true
	case '[':
		return readArray(d, depth)
	case '{':
		return readObject(d, depth)
	}
	return nil, true // null: a value that is not set
}

// number keeps integers exact where the protocol can.
func number(spelled string) ([]byte, bool) {
	if n, err := strconv.ParseInt(spelled, 10, 64); err == nil {
		return integer(n), true
	}
	n, err := strconv.ParseFloat(spelled, 64)
	if err != nil {
		return text(spelled), true // beyond a double
	}
	return double(n), true
}

func readArray(d *jsontext.Decoder, depth int) ([]byte, bool) {
	var array []byte
	for d.PeekKind() != ']' {
		value, ok := readValue(d, depth-1)
		if !ok || len(array) > MaxValue {
			return nil, false
		}
		array = appendBytes(array, elements, value)
	}
	_, err := d.ReadToken()
	return appendBytes(nil, valueArray, array), err == nil
}

func readObject(d *jsontext.Decoder, depth int) ([]byte, bool) {
	var list []byte
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil || len(list) > MaxValue {
			return nil, false
		}
		pair := appendText(nil, keyField, Cut(name.String(), MaxName))
		value, ok := readValue(d, depth-1)
		if !ok {
			return nil, false
		}
		list = appendBytes(list, elements, appendBytes(pair, valueField, value))
	}
	_, err := d.ReadToken()
	return appendBytes(nil, valueList, list), err == nil
}
