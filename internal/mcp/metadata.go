package mcp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/names"
)

// Metadata is what people say of a server's tools and of roles in it. SDKs read it.
type Metadata struct {
	Tools map[string]ToolMetadata `json:"toolMetadata,omitzero"`
	// Roles are the server's own roles by those of the organization.
	Roles map[string]string `json:"roleMapping,omitzero"`
	// CallerCredentials: callers of POST /invoke may send their own credentials for the server.
	CallerCredentials bool `json:"callerCredentials,omitzero"`
}

// ToolMetadata is what people say of a tool.
type ToolMetadata struct {
	IsFinancial     *bool    `json:"isFinancial,omitempty"`
	TransactionType string   `json:"transactionType,omitempty"`
	AmountFields    []string `json:"amountFields,omitempty"`
	AmountUnit      string   `json:"amountUnit,omitempty"`
	Currency        string   `json:"currency,omitempty"`
	RecipientField  string   `json:"recipientField,omitempty"`
	Category        string   `json:"category,omitempty"`
	// Idempotent: the proxy may call the tool again where nobody knows whether it ran. What a server says of its own
	// tools does not count.
	Idempotent *bool `json:"idempotent,omitempty"`
}

// ReadMetadata reads what is stored.
func (made *Server) ReadMetadata() (m Metadata, err error) {
	if made.Metadata == nil {
		return m, nil
	}
	err = json.Unmarshal(made.Metadata, &m)
	return m, err
}

// checkMetadata is metadata as it is stored; nil: none.
func checkMetadata(raw jsontext.Value) (jsontext.Value, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if len(raw) > maxMetadata {
		return nil, fault.Field("metadata", "must be at most %d bytes", maxMetadata)
	}
	var m Metadata
	if err := json.Unmarshal(raw, &m, json.RejectUnknownMembers(true)); err != nil {
		return nil, fault.Field("metadata",
			"must have toolMetadata, by tool, roleMapping, and callerCredentials, as the page of MCP servers "+
				"describes them")
	}
	for tool := range m.Tools {
		if tool == "" || !names.Valid(tool) {
			return nil, fault.Field("metadata.toolMetadata", "must be by names of tools")
		}
	}
	return json.Marshal(m, json.Deterministic(true))
}
