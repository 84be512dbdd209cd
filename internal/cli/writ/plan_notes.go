package writ

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"writ/internal/cli"
)

// stepMembers are the members of a step that mean something.
var stepMembers = []string{
	"action", "tool", "tool_name", "mcp", "server", "mcp_context", "description", "metadata",
	"arguments", "params", "tool_input", "input", "inputs", "args", "parameters", "strict", "max_calls",
}

// noteSteps tells what in a plan is probably not meant so. The server takes it, because programs write much into their
// plans; a person who wrote a file thinks that all of it counts.
func noteSteps(s cli.Streams, plan []byte) {
	var read struct {
		Steps []map[string]json.RawMessage `json:"steps"`
	}
	if json.Unmarshal(plan, &read) != nil {
		return
	}
	for i, step := range read.Steps {
		for _, name := range slices.Sorted(maps.Keys(step)) {
			if !slices.Contains(stepMembers, name) {
				fmt.Fprintf(s.Err, "writ: step %d: %s is not read, and fixes nothing; arguments go under params\n",
					i, cli.Line(name))
			}
		}
		if server, ok := serverInName(step); ok {
			fmt.Fprintf(s.Err, "writ: step %d names no server: if that is %s, give it by itself, as mcp\n",
				i, cli.Line(server))
		}
	}
}

// serverInName is what stands before the dot of a tool's name in a step that names no server.
func serverInName(step map[string]json.RawMessage) (server string, ok bool) {
	for _, member := range []string{"mcp", "server", "mcp_context"} {
		if step[member] != nil {
			return "", false
		}
	}
	for _, member := range []string{"action", "tool", "tool_name"} {
		var name string
		if json.Unmarshal(step[member], &name) == nil && strings.Contains(name, ".") {
			server, _, _ = strings.Cut(name, ".")
			return server, server != ""
		}
	}
	return "", false
}
