package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/telemetry"
)

// JSON that is sent as it was stored.
type (
	storedObject string
	storedTexts  string // an array of strings
)

// MarshalJSONTo writes the object.
func (v storedObject) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(v))
}

// Schema documents what it is: the type alone says text.
func (storedObject) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// MarshalJSONTo writes the array.
func (v storedTexts) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(v))
}

// Schema documents what it is.
func (storedTexts) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
}

// storedSpans are sent as a list of SpanBody. Each is made when it is written: there
// are hundreds, and none is needed longer.
type storedSpans []telemetry.StoredSpan

// MarshalJSONTo writes the list.
func (v storedSpans) MarshalJSONTo(enc *jsontext.Encoder) error {
	bodies := make([]SpanBody, len(v))
	for i := range v {
		bodies[i] = spanBody(&v[i])
	}
	return json.MarshalEncode(enc, bodies)
}

// Schema documents what is sent.
func (storedSpans) Schema(registry huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: registry.Schema(reflect.TypeFor[SpanBody](), true, "")}
}
