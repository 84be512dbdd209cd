package route

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON that is sent as it was stored.
type (
	StoredObject string
	StoredTexts  string // an array of strings
)

// MarshalJSONTo writes the object.
func (v StoredObject) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(v))
}

// Schema documents what it is: the type alone says text.
func (StoredObject) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// MarshalJSONTo writes the array.
func (v StoredTexts) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(v))
}

// Schema documents what it is.
func (StoredTexts) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
}

// SentObject is a JSON object that is read as it was sent, numbers and all.
type SentObject jsontext.Value

// UnmarshalJSONFrom keeps the text.
func (v *SentObject) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := dec.ReadValue()
	*v = append((*v)[:0], text...)
	return err
}

// Schema documents what it is: the type alone says bytes.
func (SentObject) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// OrNone is the object's text; nil where none was sent, or null.
func (v SentObject) OrNone() []byte {
	if len(v) == 0 || string(v) == "null" {
		return nil
	}
	return v
}
