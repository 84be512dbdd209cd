package enforcement

import (
	"cmp"
	"context"
	"fmt"

	"writ/internal/agent"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
)

type standingKey struct{ orgID, agentID, keyID string }

// loadAgent reads what is registered of the agent that calls: the one that the call names, else its plan's.
func (s *Service) loadAgent(ctx context.Context, c *call, v *view) error {
	key := standingKey{c.by.OrgID, v.agentID(&c.request), c.by.KeyID}
	if known, ok := s.standing.get(key, v.policies.Version); ok {
		v.agent = known
		return nil
	}
	standing, err := s.agents.StandingOf(ctx, key.orgID, key.agentID, key.keyID)
	if err != nil {
		return fmt.Errorf("find the agent of a call: %w", err)
	}
	v.agent = standing
	s.standing.put(key, v.policies.Version, standing)
	return nil
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
	if !v.key.validAt(call.Now) {
		return refuse(policy.ByAgent, "key", "the API key is not valid any more: use another one"), true
	}
	return refuseAgent(&v.agent, call.Agent.ID)
}

// refuseAgent is the deny of a call of an agent that may not act.
func refuseAgent(st *agent.Standing, agentID string) (engine.Decision, bool) {
	switch {
	case st.SuspendedAs != "":
		return refuse(policy.ByAgent, "suspended", "agent "+st.SuspendedAs+" is suspended, and so are its keys: "+
			"an administrator must set it active again"), true
	case !st.MayAct && st.Stranger:
		return refuse(policy.ByAgent, "unregistered", "unregistered agents may not act here"+
			strangerNote(agentID)), true
	case !st.MayAct && agentID == "":
		return refuse(policy.ByAgent, "unregistered", "the call names no agent, and unregistered agents may not act here"), true
	case !st.MayAct:
		return refuse(policy.ByAgent, "unregistered", "agent "+agentID+
			" is not registered, and unregistered agents may not act here"), true
	}
	return engine.Decision{}, false
}

// strangerNote says in a reason that the agent which the call names is not the registered one.
func strangerNote(agentID string) string {
	return "; agent " + agentID + " is bound to other keys, so that with this key it counts as unregistered"
}

var _ Agents = (*agent.Service)(nil)
