package document

import (
	"encoding/json"
	"fmt"
)

// RenderJSON writes a document as JSON.
func RenderJSON(doc *Document) []byte {
	form := *doc
	if form.Rules == nil {
		form.Rules = []Rule{}
	}
	text, err := json.MarshalIndent(form, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("render a policy as JSON: %v", err)) // cannot happen with text and numbers
	}
	return append(text, '\n')
}

// MarshalJSON writes the limit as a document does.
func (l Limit) MarshalJSON() ([]byte, error) {
	form := struct {
		Calls  int64       `json:"calls,omitempty"`
		Cost   json.Number `json:"cost,omitempty"`
		Tokens int64       `json:"tokens,omitempty"`
		Per    string      `json:"per"`
		By     Subject     `json:"by"`
	}{Calls: l.Calls, Tokens: l.Tokens, Per: FormatPer(l.Per), By: l.By}
	if l.Cost != 0 {
		form.Cost = json.Number(FormatCost(l.Cost))
	}
	return json.Marshal(form)
}
