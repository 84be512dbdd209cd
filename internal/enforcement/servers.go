package enforcement

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"writ/internal/audit"
	"writ/internal/intent/plan"
	"writ/internal/mcp"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// serversAt is what is cached of an organization's MCP servers, unless it is older than the version.
func (s *Service) serversAt(ctx context.Context, orgID string, at audit.Version) (*mcp.Standing, error) {
	if known, ok := s.servers.get(orgID, at); ok {
		return known, nil
	}
	standing, err := s.mcp.StandingOf(ctx, orgID)
	if err != nil {
		return nil, fmt.Errorf("read the MCP servers of a call: %w", err)
	}
	s.servers.put(orgID, at, standing)
	return standing, nil
}

// candidates are all names that a call may be of where no plan says, split by the registered servers.
func (v *view) candidates(called, server, source string) []toolname.Candidate {
	all := toolname.Candidates(called, server, source)
	if server != "" && !toolname.IsStamp(server) {
		return all // the client states it
	}
	return v.splitDotted(v.servers.Split(all), source)
}

// splitDotted takes bank.pay for the tool pay of bank, if that server is registered or in the plan. That it is the
// whole name of a tool without a server can only restrict then. Harnesses' own tools are never split: a plan must
// not make one of them a server's.
func (v *view) splitDotted(candidates []toolname.Candidate, source string) []toolname.Candidate {
	whole := candidates[0]
	if whole.Server != toolname.Local || toolname.Harness(source) != toolname.Local {
		return candidates
	}
	best := -1
	for i, c := range candidates {
		if c.Server+toolname.Dot+c.Tool == whole.Tool && v.knowsServer(c.Server) &&
			(best < 0 || len(c.Server) > len(candidates[best].Server)) {
			best = i
		}
	}
	if best < 0 {
		return candidates
	}
	whole.Naming = toolname.Claimed
	split := []toolname.Candidate{{Name: candidates[best].Name}, whole}
	for i, c := range candidates {
		if i > 0 && i != best {
			split = append(split, c)
		}
	}
	return split
}

// knowsServer reports whether a server is registered or a step of the plan names it. Names that stand for the tools of
// no MCP server are none.
func (v *view) knowsServer(server string) bool {
	if toolname.IsReserved(server) || toolname.IsStamp(server) {
		return false
	}
	if v.servers.Approves(server) {
		return true
	}
	return v.plan != nil && slices.ContainsFunc(v.plan.Plan.Steps, func(s plan.Step) bool { return s.Server == server })
}

// refuseServer is the deny of a call of a server that a person has refused.
func (v *view) refuseServer(questions []engine.Question) (engine.Decision, bool) {
	for _, q := range questions {
		for server := range cuts(q.Call) {
			if v.servers.Denies(server) {
				return refuse(policy.ByMCP, mcp.RuleDenied, "a person has refused this MCP server"), true
			}
		}
	}
	return engine.Decision{}, false
}

// heldFor is why the tool of a call waits until a person accepts it, under any of its names; empty: it does not.
func (v *view) heldFor(questions []engine.Question) string {
	if !v.servers.HoldsAny() {
		return ""
	}
	for _, q := range questions {
		for server, tool := range cuts(q.Call) {
			if why := v.servers.Holds(server, tool); why != "" {
				return why
			}
		}
	}
	return ""
}

// cuts are the server and the tool of a call as it names them, as policies do, and cut at every dot: servers and tools
// have dots in their names, and clients cut where they like.
func cuts(call *toolcall.Call) iter.Seq2[string, string] {
	return func(yield func(server, tool string) bool) {
		if !yield(call.Server, call.Tool) || !yield(call.Name()) {
			return
		}
		whole := call.Server + toolname.Dot + call.Tool
		for i := range len(whole) {
			if whole[i] == toolname.Dot[0] && i != len(call.Server) && !yield(whole[:i], whole[i+1:]) {
				return
			}
		}
	}
}

// holdUnaccepted makes the decision at least a hold if nobody has accepted the tool as it is. A person who approved
// a call that a policy holds has not seen how the tool changed, so the hold is the registry's, with the approvers of
// both.
func (v *view) holdUnaccepted(d engine.Decision, questions []engine.Question) engine.Decision {
	why := v.heldFor(questions)
	if why == "" || d.Verdict == verdict.Deny {
		return d
	}
	held := refuse(policy.ByMCP, mcp.RuleHeld, why+": a person must look at it in the registry of MCP servers")
	held.Verdict = verdict.Hold
	held.Confine, held.Oblige, held.Claims = d.Confine, d.Oblige, d.Claims
	if d.Verdict == verdict.Hold {
		held.Approvers = d.Approvers
	}
	return held
}

var _ Servers = (*mcp.Service)(nil)
