package enforcement

import (
	"context"
	"strings"

	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/clientpolicy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/toolname"
)

// Parties are the agent and user that a client names.
type Parties struct{ AgentID, UserID, Email string }

// callFor is a call of which only the parties are known.
func callFor(p principal.Principal, of Parties) *call {
	c := &call{by: p, request: Request{
		AgentID:     stated(of.AgentID),
		UserID:      stated(of.UserID),
		UserEmail:   of.Email,
		Environment: p.Environment,
	}}
	c.attested()
	c.request.readEmail()
	return c
}

// stated is an id, or empty for the word with which SDKs say that they know none.
func stated(id string) string {
	if id == plan.NotStated {
		return ""
	}
	return id
}

// readEmail sets the user's e-mail address, which SDKs may send as the id.
func (r *Request) readEmail() {
	if r.UserEmail == "" && strings.Contains(r.UserID, "@") {
		r.UserEmail = r.UserID
	}
	r.UserEmail = strings.ToLower(r.UserEmail)
}

// Foresee predicts what policies say about the tools of a plan, for SDKs that decide some calls themselves. Widened are
// steps that still need approval. Foresee never fails: if nothing can be predicted, every call needs the server.
func (s *Service) Foresee(
	ctx context.Context, p principal.Principal, declared *plan.Plan, widened []int, of Parties,
) (clientpolicy.Validation, []clientpolicy.SnapshotEntry) {
	var tools, pending []clientpolicy.Tool
	for i := range declared.Steps {
		step := &declared.Steps[i]
		tool := clientpolicy.Tool{Server: step.Server, Name: step.Tool}
		tools = append(tools, tool)
		if step.Dotted() { // whose tool it is depends on what is registered when it is called
			pending = append(pending, tool)
		}
	}
	for _, i := range widened {
		pending = append(pending, tools[i])
	}
	tools = append(tools, hostsOwn(declared, tools)...)
	c := callFor(p, of)
	v, err := s.loadCurrent(ctx, c)
	now := s.db.Now()
	var call *toolcall.Call
	refused := err != nil
	if !refused {
		call = c.toolcall(v, toolname.Name{}, -1, now)
		_, refused = v.refuseCaller(call)
	}
	if err != nil {
		s.logger.WarnContext(ctx, "nothing could be predicted for a plan, so its client must ask about every call",
			"error", err)
	}
	if refused {
		return clientpolicy.Unknown(tools), []clientpolicy.SnapshotEntry{}
	}
	if v.asks() { // what a call may do depends on what its session knows by then
		return clientpolicy.Unknown(tools), []clientpolicy.SnapshotEntry{}
	}
	set := v.policies.Set
	return clientpolicy.ForCallers(set, policy.Callers(set, call), tools, append(pending, v.stopped(call, tools)...))
}

// stopped are the tools that the kill switch has stopped or whose change nobody has accepted, under any of their names.
func (v *view) stopped(call *toolcall.Call, tools []clientpolicy.Tool) (all []clientpolicy.Tool) {
	for _, tool := range tools {
		questions := engine.Ask(*call, toolname.Candidates(tool.Name, tool.Server, ""))
		if _, refused := v.refuseStopped(questions); refused || v.heldFor(questions) != "" {
			all = append(all, tool)
		}
	}
	return all
}

// hostsOwn are the tools of the plan's harness that names without a server may mean as well: as decisions judge them.
func hostsOwn(declared *plan.Plan, tools []clientpolicy.Tool) (own []clientpolicy.Tool) {
	for _, tool := range tools {
		host, ok := toolname.BareHost(tool.Name, declared.Source)
		if ok && tool.Server != host && tool.Server != toolname.Local {
			own = append(own, clientpolicy.Tool{Server: host, Name: tool.Name})
		}
	}
	return own
}
