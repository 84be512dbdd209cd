package api

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
)

// errorMessage is what went wrong, in one text. Where a profile is staged it is a
// list with every problem: plugins print that, and know no details.
type errorMessage struct {
	text string
	list []string
}

// MarshalJSONTo writes the text, or the list where there is one.
func (m errorMessage) MarshalJSONTo(to *jsontext.Encoder) error {
	if m.list != nil {
		return json.MarshalEncode(to, m.list)
	}
	return to.WriteToken(jsontext.String(m.text))
}

// Schema says that it is mostly a text.
func (errorMessage) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{
		Description: "What went wrong, for a person to read; under /policies/profiles/ a list, where a body is not valid.",
		Examples:    []any{"name: must be 1-100 characters"},
		OneOf:       []*huma.Schema{text, {Type: huma.TypeArray, Items: text}},
	}
}

// listed tells each problem with its place.
func listed(details []fault.Detail) []string {
	var list []string
	for _, d := range details {
		list = append(list, d.Field+": "+d.Message)
	}
	return list
}
