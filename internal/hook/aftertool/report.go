package aftertool

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/bounded"
	"writ/internal/hook/state"
	"writ/internal/redaction"
)

const (
	// maxReported is how much of an input or output a report holds.
	maxReported = 256 << 10
	maxError    = 2 << 10
)

// source is how the server knows the host.
const source = "gemini-cli"

// report is a row of POST /iap/audit/batch.
type report struct {
	Source     string          `json:"source"`
	Event      string          `json:"event"`
	SessionID  string          `json:"session_id"`
	AgentID    string          `json:"agent_id"`
	ToolName   string          `json:"tool_name"`
	MCP        string          `json:"mcp,omitempty"`
	ToolInput  json.RawMessage `json:"tool_input,omitempty"` // exactly; absent: it is too long
	Output     string          `json:"output"`
	Status     string          `json:"status"`
	Error      string          `json:"error_message,omitempty"`
	ExecutedAt string          `json:"executed_at"`
	DurationMs int64           `json:"duration_ms,omitempty"`
	PlanID     string          `json:"plan_id,omitempty"`
	DecisionID string          `json:"decision_id,omitempty"`
	Alarm      string          `json:"alarm,omitempty"`
	Confined   map[string]any  `json:"confined,omitempty"`
	Refused    []string        `json:"refused,omitempty"`
}

// reportOf is the report of a call; nil: nobody decided about it.
func reportOf(in *hook.Input, call *state.Call, result result, alarm string) report {
	now := time.Now().UTC()
	r := report{
		Source:     source,
		Event:      in.Event,
		SessionID:  in.SessionID,
		AgentID:    in.Guard.Agent,
		ToolName:   in.ToolName,
		Output:     result.output,
		Status:     "success",
		Error:      result.problem,
		ExecutedAt: now.Format(time.RFC3339Nano),
		Alarm:      alarm,
	}
	if in.MCP != nil {
		r.MCP = in.MCP.ServerName
	}
	if result.problem != "" {
		r.Status = "failed"
	}
	if input := decidedInput(in, call); len(input) <= maxReported {
		r.ToolInput = input
	}
	if call != nil {
		r.PlanID, r.DecisionID = call.PlanID, call.DecisionID
		r.DurationMs = max(0, now.Sub(call.At).Milliseconds())
	}
	return r
}

// decidedInput is the arguments as they were decided about: confinement rewrites a call, and its report is of what the
// agent wanted.
func decidedInput(in *hook.Input, call *state.Call) json.RawMessage {
	if call != nil && len(call.Original) > 0 {
		return call.Original
	}
	return in.ToolInput
}

// result is what a tool returned, without secrets.
type result struct {
	output  string // what the model gets; [truncated] at the end: it is longer
	problem string // why the tool failed; empty: it did not
}

func readResult(response json.RawMessage) result {
	var r struct {
		Content json.RawMessage `json:"llmContent"`
		Error   *struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(response, &r) != nil {
		return result{problem: "the host gave no result that can be read"}
	}
	// What is far too long is cut before it is searched for secrets; the second cut removes what the first cut in half.
	out := result{output: bounded.Cut(redactText(bounded.Head(contentText(r.Content), 2*maxReported)), maxReported)}
	if r.Error != nil {
		message := r.Error.Type + " " + bounded.Head(r.Error.Message, 2*maxError)
		out.problem = bounded.Cut(redaction.Text(strings.TrimSpace(message)), maxError)
		if out.problem == "" {
			out.problem = "the tool failed"
		}
	}
	return out
}

// contentText is the text of what the model gets: a string, a part, or a list of parts.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		parts = []json.RawMessage{content}
	}
	var all strings.Builder
	for _, part := range parts {
		all.WriteString(partText(part))
	}
	return all.String()
}

func partText(part json.RawMessage) string {
	var text string
	if json.Unmarshal(part, &text) == nil {
		return text
	}
	var p struct {
		Text   *string `json:"text"`
		Inline *struct {
			Type string `json:"mimeType"`
			Data string `json:"data"`
		} `json:"inlineData"`
	}
	switch {
	case json.Unmarshal(part, &p) != nil || p.Text == nil && p.Inline == nil:
		return string(part)
	case p.Text != nil:
		return *p.Text
	}
	return fmt.Sprintf("[%s, %d bytes]", bounded.Head(p.Inline.Type, 100), len(p.Inline.Data)/4*3)
}

// redactText takes secrets out of a text, by the names of members too if it is JSON.
func redactText(text string) string {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if clean, err := redaction.JSON([]byte(trimmed)); err == nil {
			return string(clean)
		}
	}
	return redaction.Text(text)
}

// redactJSON is a JSON value without secrets; empty if it cannot be read.
func redactJSON(value json.RawMessage) string {
	if len(value) > maxReported {
		return fmt.Sprintf("[%d bytes]", len(value))
	}
	clean, err := redaction.JSON(value)
	if err != nil {
		return ""
	}
	return string(clean)
}
