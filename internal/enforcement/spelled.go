package enforcement

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"writ/internal/audit"
	"writ/internal/intent/plan"
	"writ/internal/names"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolname"
)

// place says of which tool a call is as far as its own words tell, for denies that look no further.
func (d *candidate) place(c *call, v *view) {
	r := &c.request
	d.server, _ = toolname.Resolve(r.Tool, r.Server, r.Source)
	if !toolname.MayJoin(r.Tool) || c.isHarnesses(v) {
		return
	}
	if first := v.candidates(r.Tool, r.Server, r.Source)[0]; first.Naming == toolname.Certain {
		d.server, d.spelled = first.Server, c.spelled(v, first)
	}
}

// placeByPlan says of which server a call is that its plan has with other arguments. No policy judges such a call, but
// whoever lists what a server was asked for looks for it there, beside the calls that the plan allows. Where the call
// says anything of its server itself, or the plan has the tool on several, it stays where its own words place it.
func (d *candidate) placeByPlan(c *call, v *view, fit plan.Result) {
	r := &c.request
	if fit.Drift != plan.OtherArguments || r.Server != "" || r.CalledAs != "" || toolname.MayJoin(r.Tool) ||
		d.server != toolname.Local {
		return
	}
	planned := v.plan.Plan
	servers := planned.Servers(planned.Fit(plan.Call{Tool: r.Tool, NoArguments: true}).Steps)
	if len(servers) == 1 && !toolname.IsReserved(servers[0]) && !toolname.IsStamp(servers[0]) {
		d.server = servers[0]
	}
}

// spelled are the names that the call certainly is of, and writes with the server in front of the tool. All spellings
// are one call, in the record as for approvers. What the proxy carries out has the name that it is called by, and so
// does a harness's own tool. A name that can be cut in several ways is only itself, unless a person has approved the
// server: else who agrees to one tool would agree to another. A plan does not choose among approved servers.
func (c *call) spelled(v *view, among ...toolname.Candidate) (spelled []toolname.Name) {
	if c.request.Carried != nil || c.isHarnesses(v) {
		return nil
	}
	cuts := v.cutsOf(c.request.Tool)
	longest := v.longest(cuts, c.request.Tool)
	for _, n := range among {
		if n.Naming != toolname.Certain || !toolname.Spells(c.request.Tool, n.Name) {
			continue
		}
		isStated := n.Server == c.request.Server && v.servers.Approves(n.Server)
		if len(cuts) < 2 || n.Name == longest || isStated {
			spelled = append(spelled, n.Name)
		}
	}
	return spelled
}

// cutsOf are the servers and tools that a name may be of: by the marks of harnesses, and by dots after servers that are
// known.
func (v *view) cutsOf(called string) []toolname.Name {
	cuts := toolname.Readings(called)
	for _, n := range toolname.Guesses(called) {
		if n.Server+toolname.Dot+n.Tool == called && v.knowsServer(n.Server) {
			cuts = append(cuts, n)
		}
	}
	return cuts
}

// longest is the one with the longest server that a person has approved, as the registry splits names. Where a person
// has approved none, it is the one with the longest server of all if dots alone cut the name; zero: there is none.
func (v *view) longest(cuts []toolname.Name, called string) (approved toolname.Name) {
	var longest toolname.Name
	isDotted := true
	for _, n := range cuts {
		if v.servers.Approves(n.Server) && len(n.Server) > len(approved.Server) {
			approved = n
		}
		if len(n.Server) > len(longest.Server) {
			longest = n
		}
		isDotted = isDotted && n.Server+toolname.Dot+n.Tool == called
	}
	if approved.Server == "" && isDotted {
		return longest
	}
	return approved
}

// isHarnesses reports whether the call may be of a harness's own tool, by what the call or its plan says of the
// harness.
func (c *call) isHarnesses(v *view) bool {
	r := &c.request
	if r.Server != "" && !toolname.IsStamp(r.Server) {
		return false
	}
	sources := []string{r.Source, r.Server}
	if v.plan != nil && v.plan.Plan != nil {
		sources = append(sources, v.plan.Plan.Source)
	}
	return slices.ContainsFunc(sources, func(source string) bool {
		_, isOwn := toolname.BareHost(r.Tool, source)
		return isOwn
	})
}

// perhapsLocal is a planned call's whole name as that of a tool which some agent calls so itself, where it has the form
// that the Gemini CLI gives to tools of MCP servers, and neither the call nor its plan says that a harness calls. The
// plan says which server is meant, so the name only restricts.
func (c *call) perhapsLocal(v *view) []toolname.Candidate {
	r := &c.request
	if r.Server != "" || !toolname.IsGemini(r.Tool) ||
		toolname.Harness(cmp.Or(r.Source, v.plan.Plan.Source)) != toolname.Local {
		return nil
	}
	return []toolname.Candidate{{Name: toolname.Name{Server: toolname.Local, Tool: r.Tool}, Naming: toolname.Claimed}}
}

// spelledIn are the spelled names among those that policies judge.
func (c *call) spelledIn(v *view, questions []engine.Question) []toolname.Name {
	if !toolname.MayJoin(c.request.Tool) {
		return nil
	}
	among := make([]toolname.Candidate, len(questions))
	for i, q := range questions {
		among[i] = toolname.Candidate{Name: toolname.Name{Server: q.Call.Server, Tool: q.Call.Tool}, Naming: q.Naming}
	}
	return c.spelled(v, among...)
}

// tool is the tool of the decision's server, without the server if the call writes that in front of it.
func (d *candidate) tool(c *call) string {
	for _, n := range d.spelled {
		if n.Server == d.server {
			return n.Tool
		}
	}
	return c.request.Tool
}

// Calling is a name as a client calls it, and what it says beside it of what the name is of.
type Calling struct {
	PlanID string // of the key; empty, or another's: none
	Server string // as the client states it; empty: it does not
	Tool   string
	Source string // the harness that calls; empty: nobody says which
}

// Named is the server and the tool that a name means in calls of a key: by the registered servers, and by the plan if
// that is the key's. Where that cannot be read, the name stands for itself and there is no error: a decision judges the
// call again anyway, and some clients run the tool after an error.
func (s *Service) Named(ctx context.Context, p principal.Principal, called Calling) (server, tool string) {
	server, tool = called.Server, strings.TrimSpace(called.Tool)
	if !toolname.MayJoin(tool) || toolname.TooManyReadings(tool) || !names.Valid(tool) || !names.Valid(called.PlanID) {
		return server, tool
	}
	v, err := s.loadNaming(ctx, p, called.PlanID)
	if err != nil {
		s.logger.WarnContext(ctx, "a name was not taken apart, because of a failure", "error", err)
		return server, tool
	}
	c := callFor(p, Parties{})
	c.request.Server, c.request.Tool, c.request.Source = server, tool, called.Source
	for _, n := range c.spelled(v, v.candidates(tool, server, called.Source)...) {
		if server == "" || toolname.IsStamp(server) || n.Server == server {
			return n.Server, n.Tool
		}
	}
	return server, tool
}

// loadNaming loads what says which server a name is of, and no more: whoever asks has not been throttled yet.
func (s *Service) loadNaming(ctx context.Context, p principal.Principal, planID string) (*view, error) {
	head, err := audit.ReadHead(ctx, s.db.Prepared(), audit.LogOf(p.OrgID))
	if err != nil {
		return nil, err
	}
	v := &view{}
	if v.servers, err = s.serversAt(ctx, p.OrgID, head.Version); err != nil || planID == "" {
		return v, err
	}
	v.plan, err = s.plans.Find(ctx, p.OrgID, head.Generation, plan.Presented{PlanID: planID})
	if v.plan != nil && v.plan.Binding.KeyID != p.KeyID {
		v.plan = nil
	}
	return v, err
}
