package clientpolicy

import (
	"slices"

	"writ/internal/policy/engine"
	"writ/internal/toolcall"
)

// ForCallers is ForPlan for several callers: what is denied to one of them is
// denied. So are the tools that are still pending.
func ForCallers(
	set *engine.Set, callers []*toolcall.Call, tools, pending []Tool,
) (Validation, []SnapshotEntry) {
	v, entries := ForPlan(set, *callers[0], tools)
	for _, caller := range callers[1:] {
		other, _ := ForPlan(set, *caller, tools)
		v = v.stricter(other)
	}
	if len(pending) > 0 {
		v = v.stricter(Unknown(pending))
	}
	for i := range entries {
		rules := &entries[i].Rules
		rules.AllowedTools = slices.DeleteFunc(rules.AllowedTools, func(tool string) bool {
			return !slices.Contains(v.AllowedTools, tool)
		})
	}
	return v, entries
}

// Unknown denies every tool until the server is asked.
func Unknown(tools []Tool) Validation {
	v := Validation{
		AllowedTools: []string{}, DeniedTools: []string{}, DeniedReasons: []string{}, DefaultEnforcementAction: hold,
	}
	for _, tool := range tools {
		if !slices.Contains(v.DeniedTools, tool.Name) {
			v.DeniedTools = append(v.DeniedTools, tool.Name)
			v.DeniedReasons = append(v.DeniedReasons, tool.Name+": "+needsServer)
		}
	}
	return v
}

// stricter denies what either denies.
func (v Validation) stricter(other Validation) Validation {
	merged := Validation{
		AllowedTools: slices.DeleteFunc(v.AllowedTools, func(tool string) bool {
			return slices.Contains(other.DeniedTools, tool)
		}),
		DeniedTools:              union(v.DeniedTools, other.DeniedTools),
		DeniedReasons:            union(v.DeniedReasons, other.DeniedReasons),
		DefaultEnforcementAction: hold,
	}
	if v.blocks() || other.blocks() || len(merged.DeniedTools) == 0 {
		merged.DefaultEnforcementAction = block
	}
	return merged
}

func (v Validation) blocks() bool {
	return len(v.DeniedTools) > 0 && v.DefaultEnforcementAction == block
}

func union(a, b []string) []string {
	for _, text := range b {
		if !slices.Contains(a, text) {
			a = append(a, text)
		}
	}
	return a
}
