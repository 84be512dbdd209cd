package webhook

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// argumentsLine begins the line of a message to a chat that tells the arguments.
const argumentsLine = "Arguments: "

// withhold takes the arguments out of a body. It may have been rendered while the
// webhook still sent them, and wait since, or be sent again by hand.
func withhold(kind Kind, body []byte) ([]byte, error) {
	if kind == Generic {
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, fmt.Errorf("take arguments out of a delivery: %w", err)
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
		return nil, fmt.Errorf("take arguments out of a delivery: %w", err)
	}
	return json.Marshal(withoutLine(m), json.Deterministic(true))
}

// withoutLine is a message without the lines that tell arguments. Each is one line:
// what agents chose holds no line breaks here.
func withoutLine(part any) any {
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
			part[i] = withoutLine(part[i])
		}
	case map[string]any:
		for name := range part {
			part[name] = withoutLine(part[name])
		}
	}
	return part
}
