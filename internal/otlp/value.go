package otlp

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/telemetry/decode"
)

const (
	noValue byte = iota
	textValue
	boolValue
	wholeValue
	floatValue
	writtenValue // an array, a map or bytes, already as JSON
)

// value is an attribute's value. Its text is valid only while its span is read.
type value struct {
	kind  byte
	text  []byte
	whole int64 // also a bool, as 0 or 1
	float float64
}

// attribute is an attribute of a span, event, link, resource or scope.
type attribute struct {
	key   string
	value value
}

// errDepth and errAttributes refuse a span, not the request.
var (
	errDepth      = errors.New("attributes are nested too deep")
	errAttributes = errors.New("there are too many attributes")
)

// appendTo writes the value as JSON. Numbers that JSON does not have become texts.
func (v value) appendTo(dst []byte) []byte {
	switch v.kind {
	case textValue:
		return appendText(dst, v.text)
	case boolValue:
		return strconv.AppendBool(dst, v.whole != 0)
	case wholeValue:
		return strconv.AppendInt(dst, v.whole, 10)
	case floatValue:
		if math.IsNaN(v.float) || math.IsInf(v.float, 0) {
			return appendText(dst, strconv.FormatFloat(v.float, 'g', -1, 64))
		}
		return strconv.AppendFloat(dst, v.float, 'g', -1, 64)
	case writtenValue:
		return append(dst, v.text...)
	}
	return append(dst, "null"...)
}

// appendText writes a JSON string. Invalid UTF-8 is replaced, which is the error that is dropped.
func appendText[T ~string | ~[]byte](dst []byte, text T) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

func appendBytes(dst, data []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, '"')
}

// string is a value that queries group by: short, and valid in every database. Ids may be numbers; any other value
// that is not a text is empty.
func (v value) string() string {
	switch v.kind {
	case textValue:
		return bounded(v.text, decode.MaxText)
	case wholeValue:
		return strconv.FormatInt(v.whole, 10)
	}
	return ""
}

// bounded is at most so many bytes of a text, valid and without U+0000.
func bounded(text []byte, limit int) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(text[:min(len(text), limit)]), "\uFFFD"), "\x00", "\uFFFD")
}

// count is a value as a number of tokens, if it is one. Some exporters write numbers as texts.
func (v value) count() (n int64, ok bool) {
	switch v.kind {
	case wholeValue:
		n, ok = v.whole, true
	case floatValue:
		if v.float != math.Trunc(v.float) || math.Abs(v.float) > decode.MaxTokens {
			return 0, false
		}
		n, ok = int64(v.float), true
	case textValue:
		if len(v.text) > 20 {
			return 0, false
		}
		parsed, err := strconv.ParseInt(string(v.text), 10, 64)
		n, ok = parsed, err == nil
	}
	if !ok || n < 0 || n > decode.MaxTokens {
		return 0, false
	}
	return n, true
}

// dollars is a value as a cost, if it is one.
func (v value) dollars() (nanos int64) {
	f := v.float
	switch v.kind {
	case wholeValue:
		f = float64(v.whole)
	case floatValue:
	default:
		return 0
	}
	if !(f >= 0 && f <= decode.MaxCost) { // nor NaN
		return 0
	}
	return int64(math.Round(f * 1e9))
}

// short limits the name or version of a library.
func short(text []byte) string { return bounded(text, decode.MaxText) }
