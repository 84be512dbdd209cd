package writ

import (
	"encoding/json"
	"slices"

	"writ/client"
)

// deepest is how far spans are indented; clients may nest them without end, or in a circle.
const deepest = 20

// spanInTree is a span, and how many spans are above it.
type spanInTree struct {
	client.Span
	depth int
}

// inTree puts every span before those that are part of it, and otherwise leaves their order. A span whose parent is not
// here is a root; so is the first of a circle.
func inTree(spans []client.Span) []spanInTree {
	here, below := map[string]bool{}, map[string][]int{}
	for _, span := range spans {
		here[span.ID] = true
	}
	var roots []int
	for i, span := range spans {
		if p := span.ParentSpanID; p != nil && here[*p] {
			below[*p] = append(below[*p], i)
		} else {
			roots = append(roots, i)
		}
	}
	for i := range spans {
		roots = append(roots, i) // what no root is above stands in a circle
	}
	sorted, placed := make([]spanInTree, 0, len(spans)), make([]bool, len(spans))
	depth := make([]int, len(spans))
	for _, root := range roots {
		// A list of what waits, not calls within calls: thousands of spans may stand below each other.
		for waiting := []int{root}; len(waiting) > 0; {
			last := len(waiting) - 1
			at := waiting[last]
			waiting = waiting[:last]
			if placed[at] {
				continue
			}
			placed[at] = true
			sorted = append(sorted, spanInTree{spans[at], depth[at]})
			for _, part := range slices.Backward(below[spans[at].ID]) {
				if !placed[part] {
					depth[part] = depth[at] + 1
					waiting = append(waiting, part)
				}
			}
		}
	}
	return sorted
}

// decidedIn is the verdict that a span shows, and the tool that it is about, with its server where the span has it.
func decidedIn(span client.Span) (verdict, tool string) {
	var facts struct{ Decision, Server, ToolName any } // clients put anything there
	if json.Unmarshal(span.Attributes, &facts) != nil {
		return "", ""
	}
	verdict, _ = facts.Decision.(string)
	tool, _ = facts.ToolName.(string)
	if server, _ := facts.Server.(string); server != "" && tool != "" {
		tool = server + "." + tool
	}
	return verdict, tool
}
