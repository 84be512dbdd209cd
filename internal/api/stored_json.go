package api

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
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
