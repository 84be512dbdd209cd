package clientpolicy

import (
	"cmp"
	"slices"

	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// Tool is a tool of a plan.
type Tool struct{ Server, Name string }

// Validation lists for an SDK which tools of its plan it may run without asking again.
// Every tool of the plan is in one of the lists, because an SDK runs what it does not
// find denied. SDKs compare names without servers, so a name that is denied on one
// server is denied on all.
type Validation struct {
	AllowedTools             []string `json:"allowed_tools"`
	DeniedTools              []string `json:"denied_tools"`
	DeniedReasons            []string `json:"denied_reasons"` // "<tool>: <why>"
	DefaultEnforcementAction string   `json:"default_enforcement_action"`
}

// SnapshotEntry is what is allowed on one server. It lists every tool, because SDKs
// disagree about stars. PolicyName is the policy that decided about the first tool.
type SnapshotEntry struct {
	PolicyName               string        `json:"policyName"`
	TargetName               string        `json:"targetName"`
	DefaultEnforcementAction string        `json:"defaultEnforcementAction"`
	Rules                    SnapshotRules `json:"rules"`
}

// SnapshotRules are the tools an entry allows.
type SnapshotRules struct {
	AllowedTools []string `json:"allowedTools"`
}

// The actions of SDKs.
const (
	block = "block"
	hold  = "hold"
)

// needsServer is why a tool is denied if the answer depends on the call.
const needsServer = "needs server enforcement"

// ForPlan is what the caller may do with the tools of a plan. A tool is allowed only if
// every call of it would be.
func ForPlan(set *engine.Set, caller toolcall.Call, tools []Tool) (Validation, []SnapshotEntry) {
	judged := foresee(set, caller, tools)
	v := validation(judged)
	return v, snapshot(judged, v)
}

// foreseen is a tool of the plan with what is known of calls to it.
type foreseen struct {
	Tool
	engine.Foresight
}

// action is what an SDK does instead of a call to the tool.
func (f foreseen) action() string {
	if f.Certain && f.Verdict == verdict.Deny {
		return block
	}
	return hold
}

func (f foreseen) allowed() bool { return f.Certain && f.Verdict == verdict.Allow }

func (f foreseen) why() string {
	if !f.Certain {
		return needsServer
	}
	return cmp.Or(f.Message, f.Reason)
}

// foresee judges each tool once, in the order of names.
func foresee(set *engine.Set, caller toolcall.Call, tools []Tool) []foreseen {
	tools = slices.Clone(tools)
	slices.SortFunc(tools, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Server, b.Server))
	})
	var judged []foreseen
	for _, tool := range slices.Compact(tools) {
		names := toolname.Candidates(tool.Name, tool.Server, "")
		judged = append(judged, foreseen{tool, set.ForeseeNamed(engine.Ask(caller, names))})
	}
	return judged
}

func validation(judged []foreseen) Validation {
	v := Validation{
		AllowedTools: []string{}, DeniedTools: []string{}, DeniedReasons: []string{}, DefaultEnforcementAction: hold,
	}
	denied := map[string]bool{}
	for _, f := range judged {
		if f.allowed() {
			continue
		}
		if f.action() == block {
			v.DefaultEnforcementAction = block // one word for all tools, so the stricter
		}
		v.DeniedReasons = append(v.DeniedReasons, f.Name+": "+f.why())
		if !denied[f.Name] {
			denied[f.Name] = true
			v.DeniedTools = append(v.DeniedTools, f.Name)
		}
	}
	if len(v.DeniedTools) == 0 {
		v.DefaultEnforcementAction = block
	}
	for _, f := range judged {
		if !denied[f.Name] {
			v.AllowedTools = append(v.AllowedTools, f.Name)
		}
	}
	v.AllowedTools = slices.Compact(v.AllowedTools)
	return v
}

// snapshot has one entry for each server. SDKs look for a tool only in the first entry
// whose target contains the server's name, so shorter names come first.
func snapshot(judged []foreseen, v Validation) []SnapshotEntry {
	entries := []SnapshotEntry{}
	for _, f := range judged {
		i := slices.IndexFunc(entries, func(e SnapshotEntry) bool { return e.TargetName == f.Server })
		if i < 0 {
			i = len(entries)
			entries = append(entries, SnapshotEntry{
				PolicyName: f.PolicyName, TargetName: f.Server,
				DefaultEnforcementAction: block, Rules: SnapshotRules{AllowedTools: []string{}},
			})
		}
		if slices.Contains(v.AllowedTools, f.Name) {
			entries[i].Rules.AllowedTools = append(entries[i].Rules.AllowedTools, f.Name)
		}
	}
	slices.SortFunc(entries, func(a, b SnapshotEntry) int {
		return cmp.Or(cmp.Compare(len(a.TargetName), len(b.TargetName)), cmp.Compare(a.TargetName, b.TargetName))
	})
	return entries
}
