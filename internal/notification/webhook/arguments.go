package webhook

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// argumentsLine begins the line of a chat message that holds the arguments.
const argumentsLine = "Arguments: "

// stripArguments removes the arguments from a body that was rendered while the webhook
// still sent them.
func stripArguments(kind Kind, body []byte) ([]byte, error) {
	if kind == Generic {
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, fmt.Errorf("remove arguments from a delivery: %w", err)
		}
		if m.Request == nil || m.Request.Arguments == "" {
			return body, nil
		}
		m.Request.Arguments = ""
		return json.Marshal(m, json.Deterministic(true))
	}
	if !strings.Contains(string(body), argumentsLine) {
		return body, nil
	}
	var m any
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, fmt.Errorf("remove arguments from a delivery: %w", err)
	}
	return json.Marshal(stripLines(m), json.Deterministic(true))
}

// stripLines removes the lines that hold arguments from a chat message. Each is one
// line: text that agents chose has no line breaks here.
func stripLines(part any) any {
	switch part := part.(type) {
	case string:
		var kept []string
		for line := range strings.SplitSeq(part, "\n") {
			if !strings.HasPrefix(line, argumentsLine) {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "\n")
	case []any:
		for i := range part {
			part[i] = stripLines(part[i])
		}
	case map[string]any:
		for name := range part {
			part[name] = stripLines(part[name])
		}
	}
	return part
}
