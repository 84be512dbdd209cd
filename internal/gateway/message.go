package gateway

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/mcp/definition"
)

// maxDepth is how many arrays and objects of a message may be within each other.
const maxDepth = 128

// message is what a client sends, as far as it must be known before the SDK reads it.
type message struct {
	method string // empty: an answer to something that the client was asked
	params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
}

// refuse is why a message is not taken.
func refuse(reason string) error { return fault.New(fault.Invalid, "%s", reason) }

// readMessage reads one message. What two readers could take for different messages is refused: a member given twice,
// text that is no UTF-8, something behind the message. So is a batch, which MCP does not have.
func readMessage(body []byte) (message, error) {
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) > 0 && text[0] == '[' {
		return message{}, refuse("batches are not taken: send one message at a time")
	}
	if definition.Depth(text) > maxDepth {
		return message{}, refuse("the message is nested too deep")
	}
	var sent struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  string         `json:"method"`
		Params  jsontext.Value `json:"params"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return message{}, refuse("the message " + describe(err))
	}
	m := message{method: sent.Method}
	if sent.Version != "2.0" {
		return m, fault.Field("jsonrpc", `must be "2.0"`)
	}
	if kind := sent.ID.Kind(); kind == '{' || kind == '[' {
		return m, fault.Field("id", "must be a text or a number")
	}
	if sent.Params.Kind() == '{' {
		// Members of other types are for the SDK to refuse.
		_ = json.Unmarshal(sent.Params, &m.params)
	}
	return m, nil
}

// describe says what is wrong with JSON, and shows nothing of it but names of members.
func describe(err error) string {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return "has a member twice"
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && syntax.Err != nil {
		return "is no JSON: " + syntax.Err.Error()
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return "is none of JSON-RPC: " + strings.TrimPrefix(string(semantic.JSONPointer), "/") + " has another type"
	}
	return "cannot be read"
}

// subject is what Mcp-Name says of such a message; ok is false where it says nothing.
func (m *message) subject() (name string, ok bool) {
	switch m.method {
	case methodCallTool, methodGetPrompt:
		return m.params.Name, true
	case methodReadResource:
		return m.params.URI, true
	}
	return "", false
}

// checkHeaders refuses headers that say another method or name than the message: whoever stands between us and the
// client would judge by the one, and we by the other.
func (m *message) checkHeaders(h http.Header) error {
	mismatch := func(header string) error {
		return fault.Field(header, "is not what the message says")
	}
	for _, name := range []string{"Mcp-Method", "Mcp-Name", sessionHeader, versionHeader} {
		if len(h.Values(name)) > 1 {
			return fault.Field(name, "is given twice")
		}
	}
	if method := h.Get("Mcp-Method"); method != "" && method != m.method {
		return mismatch("Mcp-Method")
	}
	name, ok := decodeHeader(h.Get("Mcp-Name"))
	if subject, named := m.subject(); !ok || name != "" && (!named || name != subject) {
		return mismatch("Mcp-Name")
	}
	return nil
}

// decodeHeader reads a value that may be packed as MCP packs what headers cannot carry.
func decodeHeader(value string) (string, bool) {
	packed, isPacked := strings.CutPrefix(value, "=?base64?")
	if !isPacked || !strings.HasSuffix(packed, "?=") {
		return value, true
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(packed, "?="))
	return string(text), err == nil
}
