package enforcement

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"writ/internal/agent"
	"writ/internal/audit"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
)

// certificate is what the caller's certificate proves. The zero value is that of a call without one.
type certificate struct {
	presented bool
	proves    bool      // that the caller is the agent of the call
	until     time.Time // while it is not revoked
}

func (c certificate) validAt(now time.Time) bool {
	return c.presented && c.proves && now.Before(c.until)
}

// attested gives a call without the name of an agent that of its caller's certificate.
func (c *call) attested() {
	c.request.AgentID = cmp.Or(c.request.AgentID, c.by.Attested.AgentID)
}

type certificateKey struct{ orgID, agentID, keyID, id string }

// loadCertificate finds out whether the caller's certificate proves the agent of the call. It is checked again for
// every generation of the log, so that no decision follows the entry that revokes it.
func (s *Service) loadCertificate(ctx context.Context, c *call, v *view) error {
	of := c.by.Attested
	if of == (principal.Attestation{}) {
		return nil
	}
	v.certificate = certificate{presented: true}
	if of.AgentID != v.agentID(&c.request) {
		return nil
	}
	key := certificateKey{c.by.OrgID, of.AgentID, c.by.KeyID, of.CertificateID}
	if known, ok := s.certificates.get(key, v.policies.Version); ok {
		v.certificate = known
		return nil
	}
	var err error
	v.certificate.until, v.certificate.proves, err = s.agents.Attest(ctx, key.orgID, key.agentID, key.keyID, key.id)
	if err != nil {
		return fmt.Errorf("check the certificate of a call: %w", err)
	}
	s.certificates.put(key, v.policies.Version, v.certificate)
	return nil
}

type standingKey struct{ orgID, agentID, keyID string }

// loadAgent reads what is registered of the agent that calls: the one that the call names, else its plan's.
func (s *Service) loadAgent(ctx context.Context, c *call, v *view) error {
	known, err := s.agentStanding(ctx, standingKey{c.by.OrgID, v.agentID(&c.request), c.by.KeyID}, v.policies.Version)
	if err != nil {
		return err
	}
	v.agent = known
	v.unknown = known.Counting.HasBudget() && !s.agents.BudgetsKnown(c.by.OrgID)
	return nil
}

func (s *Service) agentStanding(ctx context.Context, key standingKey, at audit.Version) (agent.Standing, error) {
	known, ok := s.standing.get(key, at)
	if ok {
		return known, nil
	}
	known, err := s.agents.StandingOf(ctx, key.orgID, key.agentID, key.keyID)
	if err != nil {
		return agent.Standing{}, fmt.Errorf("find the agent of a call: %w", err)
	}
	s.standing.put(key, at, known)
	return known, nil
}

// agentID is the agent of a call.
func (v *view) agentID(r *Request) string {
	if v.plan == nil {
		return r.AgentID
	}
	return cmp.Or(r.AgentID, v.plan.Binding.AgentID)
}

// agentOf is the agent of a call as conditions see it.
func (v *view) agentOf(r *Request) toolcall.Agent {
	return toolcall.Agent{
		ID:         v.agentID(r),
		Name:       v.agent.Name,
		Status:     string(v.agent.Status),
		Registered: v.agent.Registered,
	}
}

// refuseCaller is the deny of a call whose key or agent may not act, whatever it calls.
func (v *view) refuseCaller(call *toolcall.Call) (engine.Decision, bool) {
	if refused, ok := v.refuseKnown(call); ok {
		return refused, true
	}
	if v.unknown {
		return refuse(policy.ByAgent, "budget",
			"the agent has a budget, and this server cannot read what was spent: try again later"), true
	}
	return engine.Decision{}, false
}

// refuseKnown is refuseCaller by what is known for certain.
func (v *view) refuseKnown(call *toolcall.Call) (engine.Decision, bool) {
	if !v.key.validAt(call.Now) {
		return refuse(policy.ByAgent, "key", "the API key is not valid any more: use another one"), true
	}
	if v.certificate.presented && !v.certificate.validAt(call.Now) {
		return refuse(policy.ByAgent, "certificate", "the certificate does not prove that the caller is the agent of the "+
			"call: it is another agent's, or it was revoked or has expired"), true
	}
	return refuseAgent(&v.agent, call.Agent.ID)
}

// refuseAgent is the deny of a call of an agent that may not act.
func refuseAgent(st *agent.Standing, agentID string) (engine.Decision, bool) {
	switch {
	case st.Stopped.All:
		return stoppedBySwitch("a person has stopped this agent or its key"), true
	case st.SuspendedAs != "":
		return refuse(policy.ByAgent, "suspended", "agent "+st.SuspendedAs+" is suspended, and so are its keys: "+
			"an administrator must set it active again"), true
	case !st.MayAct && st.Stranger:
		return refuse(policy.ByAgent, "unregistered", "unregistered agents may not act here"+
			strangerNote(agentID)), true
	case !st.MayAct && agentID == "":
		return refuse(policy.ByAgent, "unregistered",
			"the call names no agent, and unregistered agents may not act here"), true
	case !st.MayAct:
		return refuse(policy.ByAgent, "unregistered", "agent "+agentID+
			" is not registered, and unregistered agents may not act here"), true
	}
	return engine.Decision{}, false
}

// stoppedBySwitch is the deny of what the kill switch has stopped. It does not say why: agents read it.
func stoppedBySwitch(what string) engine.Decision {
	return refuse(policy.ByAgent, "killed", what+": nothing is allowed until a person revives it")
}

// refuseStopped is the deny of a call of a tool, server or plan that the kill switch has stopped, or of a server that a
// person has refused, under any of its names.
func (v *view) refuseStopped(questions []engine.Question) (engine.Decision, bool) {
	if refused, ok := v.refuseServer(questions); ok {
		return refused, true
	}
	for _, st := range v.stops() {
		if slices.ContainsFunc(v.planIDs(), st.HasPlan) {
			return stoppedBySwitch("a person has stopped this plan"), true
		}
		if len(st.Servers)+len(st.Tools) == 0 {
			continue
		}
		for _, q := range questions {
			for server, tool := range cuts(q.Call) {
				if st.HasTool(server, tool) {
					return stoppedBySwitch("a person has stopped this tool or its server"), true
				}
			}
		}
	}
	return engine.Decision{}, false
}

// endPlan takes away a plan that was declared before the agent, its key or the organization was stopped. It compares
// the places in the log: clocks of replicas differ.
func (s *Service) endPlan(ctx context.Context, c *call, v *view) error {
	if v.plan == nil || v.agent.EndedBefore < 0 {
		return nil
	}
	declared, err := audit.FirstAbout(ctx, s.db, audit.LogOf(c.by.OrgID), audit.Subject{Type: "plan", ID: v.plan.ID})
	if err != nil {
		return fmt.Errorf("find when the plan of a call was declared: %w", err)
	}
	if declared < v.agent.EndedBefore {
		ended := *v.plan
		ended.Status = plan.Failed
		v.plan = &ended
	}
	return nil
}

// strangerNote says in a reason that the agent which the call names is not the registered one.
func strangerNote(agentID string) string {
	return "; agent " + agentID + " is bound to other keys, so that with this key it counts as unregistered"
}

var _ Agents = (*agent.Service)(nil)
