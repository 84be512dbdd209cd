package hosttest

import (
	"encoding/json"
	"strings"
)

// Answer is what a hook's process left behind.
type Answer struct {
	Stdout   string
	Stderr   string
	Exit     int  // 0 too if a signal ended it: the host does not tell them apart
	TimedOut bool // by the host's clock
}

// Effect is what the host does with a tool call.
type Effect string

// What the host does. Only Blocked and Stopped are a deny in every mode of the host.
const (
	Runs    Effect = "runs"
	Blocked Effect = "blocked" // the model is told the reason and goes on
	Asks    Effect = "asks"    // a person at a terminal; without one the host ends
	Stopped Effect = "stopped" // the agent ends
)

// Reading is what the host makes of an answer.
type Reading struct {
	Effect Effect
	Reason string
	Input  map[string]any // replaces the tool's arguments if it is not nil
}

// Denied says whether the call does not run, whoever sits before the host.
func (r Reading) Denied() bool { return r.Effect == Blocked || r.Effect == Stopped }

// Read is how the host reads the answer of its one BeforeTool hook. TestRulesAreTheHosts holds it against the host.
//
// What is printed decides, and stderr only if stdout is empty. JSON decides whatever the exit status; other
// text decides by the status; silence lets the tool run.
func Read(a Answer) Reading {
	text := trim(a.Stdout)
	if text == "" {
		text = trim(a.Stderr)
	}
	if a.TimedOut || text == "" {
		return Reading{Effect: Runs}
	}
	value, ok := parse(text)
	if !ok {
		return readText(text, a.Exit)
	}
	output, _ := value.(map[string]any) // a list, a number or null says nothing
	return readOutput(output)
}

// parse reads JSON, or JSON in a string of JSON. Names are case-sensitive in the host, so nothing is read
// into a struct.
func parse(text string) (value any, ok bool) {
	if json.Unmarshal([]byte(text), &value) != nil {
		return nil, false
	}
	if inner, isString := value.(string); isString {
		value = nil
		return value, json.Unmarshal([]byte(inner), &value) == nil
	}
	return value, true
}

// readText: exit status 1 is a warning to the host, any other but 0 a deny.
func readText(text string, exit int) Reading {
	if exit == 0 || exit == 1 {
		return Reading{Effect: Runs}
	}
	return Reading{Effect: Blocked, Reason: text}
}

func readOutput(output map[string]any) Reading {
	if output["continue"] == false {
		return Reading{Effect: Stopped, Reason: reason(output)}
	}
	decision, _ := output["decision"].(string)
	if decision == "deny" || decision == "block" {
		return Reading{Effect: Blocked, Reason: reason(output)}
	}
	specific, _ := output["hookSpecificOutput"].(map[string]any)
	input, _ := specific["tool_input"].(map[string]any)
	if decision == "ask" {
		return Reading{Effect: Asks, Input: input}
	}
	return Reading{Effect: Runs, Input: input}
}

func reason(output map[string]any) string {
	// The reason to stop counts only for an answer that stops.
	if stop, _ := output["stopReason"].(string); stop != "" && output["continue"] == false {
		return stop
	}
	if reason, _ := output["reason"].(string); reason != "" {
		return reason
	}
	return "No reason provided"
}

// trim removes what JavaScript's trim does: Go's space, and the byte order mark.
func trim(text string) string {
	for {
		shorter := strings.Trim(strings.TrimSpace(text), "\uFEFF")
		if shorter == text {
			return text
		}
		text = shorter
	}
}
