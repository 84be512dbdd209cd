package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/misspelling"
)

// maxWarnings bounds what is said of one plan: programs write much into theirs.
const maxWarnings = 20

// stepMembers are the members of a step that mean something.
var stepMembers = []string{
	"action", "tool", "tool_name", "mcp", "server", "mcp_context", "description", "metadata",
	"arguments", "params", "tool_input", "input", "inputs", "args", "parameters", "strict", "max_calls",
}

// planMembers are those of a plan.
var planMembers = []string{"goal", "steps", "ordered", "may", "source", "metadata", "plan"}

// Warnings say what in a plan, as a client sent it, is probably not meant so. Such a plan is taken, because published
// clients write members of their own into their plans; whoever misspelled one thinks that all of it counts.
func Warnings(sent []byte) []string {
	return warningsOf(sent, func(i int, step map[string]jsontext.Value) []string {
		return append(unreadIn(i, step), doubtsOf(i, step)...)
	})
}

// Unread are those of the Warnings that are about members which nobody reads. People who write a plan by hand never
// mean them, so that their programs may refuse such a plan before it is signed.
func Unread(sent []byte) []string { return warningsOf(sent, unreadIn) }

// warningsOf are the warnings about a plan, with those of its steps.
func warningsOf(sent []byte, ofStep func(int, map[string]jsontext.Value) []string) (warnings []string) {
	var read map[string]jsontext.Value
	var steps []map[string]jsontext.Value
	if json.Unmarshal(sent, &read, jsontext.AllowDuplicateNames(true)) != nil ||
		json.Unmarshal(read["steps"], &steps, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	warnings = notRead(read)
	for i, step := range steps {
		if warnings = append(warnings, ofStep(i, step)...); len(warnings) > maxWarnings {
			break
		}
	}
	return warnings[:min(len(warnings), maxWarnings)]
}

// notRead names the members of a plan that say nothing there.
func notRead(sent map[string]jsontext.Value) (warnings []string) {
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		switch {
		case slices.Contains(planMembers, name):
		case slices.Contains(stepMembers, name):
			warnings = append(warnings, name+" of the plan is not read: it belongs into a step")
		default:
			warnings = append(warnings, fmt.Sprintf("%s of the plan is not read; %s", shown(name),
				orMeant(name, planMembers, "expected "+strings.Join(planMembers, ", "))))
		}
	}
	return warnings
}

// unreadIn names the members of a step that say nothing there.
func unreadIn(i int, step map[string]jsontext.Value) (warnings []string) {
	for _, name := range slices.Sorted(maps.Keys(step)) {
		if !slices.Contains(stepMembers, name) {
			warnings = append(warnings, fmt.Sprintf("step %d: %s is not read, and fixes nothing; %s", i, shown(name),
				orMeant(name, stepMembers, "arguments go under params")))
		}
	}
	return warnings
}

// orMeant asks for the member that was probably meant. Whose name is like none is told something else.
func orMeant(name string, known []string, otherwise string) string {
	if meant := misspelling.Of(name, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	return otherwise
}

// doubtsOf are about members of a step that are read, and probably not as they were meant.
func doubtsOf(i int, step map[string]jsontext.Value) (warnings []string) {
	if action, tool := textOf(step["action"]), textOf(step["tool"]); action != "" && tool != "" && action != tool {
		warnings = append(warnings, fmt.Sprintf("step %d permits calls of %s, its action; %s, its tool, permits nothing",
			i, shown(action), shown(tool)))
	}
	if server, ok := serverInName(step); ok {
		warnings = append(warnings,
			fmt.Sprintf("step %d names no server: if that is %s, give it by itself, as mcp", i, shown(server)))
	}
	return warnings
}

// serverInName is what stands before the dot of a tool's name in a step that names no server.
func serverInName(step map[string]jsontext.Value) (server string, ok bool) {
	for _, member := range []string{"mcp", "server", "mcp_context"} {
		if step[member] != nil {
			return "", false
		}
	}
	for _, member := range []string{"action", "tool", "tool_name"} {
		if name := textOf(step[member]); strings.Contains(name, ".") {
			server, _, _ = strings.Cut(name, ".")
			return server, server != ""
		}
	}
	return "", false
}

// textOf is a member that is a text, or empty.
func textOf(member jsontext.Value) (text string) {
	_ = json.Unmarshal(member, &text) // what is no text is none
	return text
}
