package enforcement

import (
	"context"

	"writ/internal/intent/plan"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolname"
)

// place says of which tool a call is as far as its own words tell, for denies that look no further.
func (d *candidate) place(c *call, v *view) {
	r := &c.request
	d.server, _ = toolname.Resolve(r.Tool, r.Server, r.Source)
	if !toolname.MayJoin(r.Tool) {
		return
	}
	if first := v.candidates(r.Tool, r.Server, r.Source)[0]; first.Naming == toolname.Certain {
		d.server, d.spelled = first.Server, c.spelled(v, first)
	}
}

// spelled are the names that the call certainly is of, and writes with the server in front of the tool. All spellings
// are one call, in the record as for approvers. What the proxy carries out has the name that it is called by. A joined
// name that can be read in several ways is only itself, unless a person has approved the server: else who agrees to one
// tool would agree to another.
func (c *call) spelled(v *view, names ...toolname.Candidate) (spelled []toolname.Name) {
	if c.request.Carried != nil {
		return nil
	}
	isClear := len(toolname.Readings(c.request.Tool)) < 2
	for _, n := range names {
		if n.Naming == toolname.Certain && toolname.Spells(c.request.Tool, n.Name) &&
			(isClear || v.servers.Approves(n.Server)) {
			spelled = append(spelled, n.Name)
		}
	}
	return spelled
}

// spelledIn are the spelled names among those that policies judge.
func (c *call) spelledIn(v *view, questions []engine.Question) (spelled []toolname.Name) {
	if !toolname.MayJoin(c.request.Tool) {
		return nil
	}
	for _, q := range questions {
		n := toolname.Name{Server: q.Call.Server, Tool: q.Call.Tool}
		spelled = append(spelled, c.spelled(v, toolname.Candidate{Name: n, Naming: q.Naming})...)
	}
	return spelled
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

// Named is the server and the tool that a name alone means in calls of a key: by the registered servers, and by the
// plan if that is the key's. Nobody says which harness calls.
func (s *Service) Named(ctx context.Context, p principal.Principal, planID, called string) (
	server, tool string, err error,
) {
	if !toolname.MayJoin(called) || toolname.TooManyReadings(called) {
		return "", called, nil
	}
	c := callFor(p, Parties{})
	c.request.Presented, c.request.TokenRequired = plan.Presented{PlanID: planID}, true
	v, err := s.loadView(ctx, c, true)
	if err != nil {
		return "", "", err
	}
	if v.plan != nil && v.plan.Binding.KeyID != p.KeyID {
		v.plan = nil
	}
	c.request.Tool = called
	if spelled := c.spelled(v, v.candidates(called, "", "")...); spelled != nil {
		return spelled[0].Server, spelled[0].Tool, nil
	}
	return "", called, nil
}
