// Package gemini is what the Gemini CLI tells its hooks, and what hooks answer. It is pure.
//
// The host runs a tool when a hook says nothing, says something that is no JSON, or says an unknown word. So whoever
// answers writes one whole JSON object, and a payload that can be read in two ways is refused.
package gemini

import "encoding/json"

// The names that the host gives to its events.
const (
	SessionStart        = "SessionStart"
	BeforeAgent         = "BeforeAgent"
	BeforeToolSelection = "BeforeToolSelection"
	BeforeTool          = "BeforeTool"
	AfterTool           = "AfterTool"
	SessionEnd          = "SessionEnd"
)

// Payload is what the host tells a hook. Members that an event does not have are empty.
type Payload struct {
	SessionID      string
	TranscriptPath string
	CWD            string // absolute
	Event          string
	Timestamp      string

	Source string // of SessionStart: startup, resume or clear
	Prompt string // of BeforeAgent, with the texts of files that it names
	Reason string // of SessionEnd

	ToolName     string
	ToolInput    json.RawMessage // the model's own arguments: an object
	MCP          *MCP            // where the tool comes from; nil: it is the host's own
	OriginalName string          // the tool that this call answers for, of a call that a hook asked for
	ToolResponse json.RawMessage // of AfterTool
	LLMRequest   json.RawMessage // of BeforeToolSelection
}

// MCP is the server of a tool, as the host has started or called it.
type MCP struct {
	ServerName string   `json:"server_name"`
	ToolName   string   `json:"tool_name"`
	Command    string   `json:"command"`
	Args       []string `json:"args"`
	CWD        string   `json:"cwd"`
	URL        string   `json:"url"`
}

// What a hook may decide. The host takes any other word for an allow.
const (
	Allow = "allow"
	Deny  = "deny"
	Ask   = "ask"
)

// Answer is what a hook tells the host. The zero value says nothing.
type Answer struct {
	Decision       string    `json:"decision,omitempty"`
	Reason         string    `json:"reason,omitempty"`        // the model reads it, with a deny
	SystemMessage  string    `json:"systemMessage,omitempty"` // the person reads it
	SuppressOutput bool      `json:"suppressOutput,omitempty"`
	Specific       *Specific `json:"hookSpecificOutput,omitempty"`
}

// Specific is the part of an answer that belongs to one event.
type Specific struct {
	Event      string          `json:"hookEventName"`
	ToolInput  json.RawMessage `json:"tool_input,omitempty"` // takes the place of the whole input
	Context    string          `json:"additionalContext,omitempty"`
	ToolConfig *ToolConfig     `json:"toolConfig,omitempty"`
}

// ToolConfig says which tools the model should choose from. The host does not hold it.
type ToolConfig struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

// Denied is the answer that stops a tool, with a reason that a model can act on.
func Denied(reason string) Answer {
	if reason == "" {
		reason = "Writ denied the call and gave no reason."
	}
	return Answer{Decision: Deny, Reason: reason}
}

// IsZero reports whether the answer says nothing.
func (a Answer) IsZero() bool { return a == Answer{} }

// Text is the answer as the host reads it: nothing for the zero value.
func (a Answer) Text() ([]byte, error) {
	if a.IsZero() {
		return nil, nil
	}
	return json.Marshal(a)
}
