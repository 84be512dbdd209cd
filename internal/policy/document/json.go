package document

import (
	"encoding/json"
	"fmt"
)

// The JSON form of a document, in the order of the YAML form.
type (
	jsonDocument struct {
		Version     string     `json:"version"`
		Name        string     `json:"name"`
		Description string     `json:"description,omitempty"`
		Default     string     `json:"default"`
		Rules       []jsonRule `json:"rules"`
	}
	jsonRule struct {
		ID          string         `json:"id"`
		Description string         `json:"description,omitempty"`
		Effect      string         `json:"effect"`
		Tools       []Pattern      `json:"tools"`
		When        string         `json:"when,omitempty"`
		Limit       *jsonLimit     `json:"limit,omitempty"`
		Approvers   *jsonApprovers `json:"approvers,omitempty"`
		Message     string         `json:"message,omitempty"`
	}
	jsonLimit struct {
		Calls  int64       `json:"calls,omitempty"`
		Cost   json.Number `json:"cost,omitempty"`
		Tokens int64       `json:"tokens,omitempty"`
		Per    string      `json:"per"`
		By     Subject     `json:"by"`
	}
	jsonApprovers struct {
		Role  string `json:"role"`
		Count int    `json:"count"`
	}
)

// RenderJSON writes a document as JSON.
func RenderJSON(doc *Document) []byte {
	form := jsonDocument{
		Version: doc.Version, Name: doc.Name, Description: doc.Description,
		Default: doc.Default.String(), Rules: make([]jsonRule, len(doc.Rules)),
	}
	for i, rule := range doc.Rules {
		form.Rules[i] = jsonRule{
			ID: rule.ID, Description: rule.Description, Effect: rule.Effect.String(),
			Tools: rule.Tools, When: rule.When, Limit: limitJSON(rule.Limit), Message: rule.Message,
		}
		if a := rule.Approvers; a != nil {
			form.Rules[i].Approvers = &jsonApprovers{a.Role, a.Count}
		}
	}
	text, err := json.MarshalIndent(form, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("render a policy as JSON: %v", err)) // cannot happen with text and numbers
	}
	return append(text, '\n')
}

func limitJSON(l *Limit) *jsonLimit {
	if l == nil {
		return nil
	}
	form := &jsonLimit{Calls: l.Calls, Tokens: l.Tokens, Per: FormatPer(l.Per), By: l.By}
	if l.Cost != 0 {
		form.Cost = json.Number(FormatCost(l.Cost))
	}
	return form
}
