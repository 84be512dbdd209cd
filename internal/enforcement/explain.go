package enforcement

import (
	"context"

	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
)

// Explain explains what the active policies say about a call, under the same names as a decision. An empty server is
// not stated. It claims and records nothing.
func (s *Service) Explain(ctx context.Context, p principal.Principal, call toolcall.Call) (engine.Explanation, error) {
	st, err := s.agents.StandingOf(ctx, p.OrgID, call.Agent.ID, call.Key.ID)
	if err != nil {
		return engine.Explanation{}, err
	}
	call.Agent.Name, call.Agent.Status, call.Agent.Registered = st.Name, string(st.Status), st.Registered
	if st.Proven && call.Key.ID != "" {
		call.Key.AgentID = call.Agent.ID
	}
	if p.Attested.AgentID != "" && p.Attested.AgentID == call.Agent.ID {
		of := p.Attested
		_, call.Agent.Attested, err = s.agents.Attest(ctx, p.OrgID, of.AgentID, p.KeyID, of.CertificateID)
		if err != nil {
			return engine.Explanation{}, err
		}
	}
	v := view{agent: st}
	if v.servers, err = s.mcp.StandingOf(ctx, p.OrgID); err != nil {
		return engine.Explanation{}, err
	}
	names := v.candidates(call.Tool, call.Server, "")
	call.Server, call.Tool = names[0].Server, names[0].Tool
	x, err := s.policies.Check(ctx, p, call, names...)
	if err != nil {
		return x, err
	}
	if refused, ok := refuseAgent(&st, call.Agent.ID); ok {
		return engine.Explanation{Decision: refused}, nil
	}
	questions := engine.Ask(call, names)
	if refused, ok := v.refuseStopped(questions); ok {
		return engine.Explanation{Decision: refused}, nil
	}
	if v.heldFor(questions) != "" {
		x.Decision = v.holdUnaccepted(x.Decision, questions)
	}
	return x, nil
}
