package enforcement

import (
	"context"
	"slices"
	"strconv"
	"time"

	"writ/internal/agent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
)

// A call under a delegation must be one that everybody who delegated could make now: it fits every plan of the chain,
// and policies and the kill switch are asked about each of them too. So nobody gets rid of what restricts them by
// delegating.

// delegator is whoever delegated a plan of the chain.
type delegator struct {
	keyID   string
	key     keyStatus
	agent   agent.Standing
	unknown bool // see view
	id      string
	owner   toolcall.User
	user    toolcall.User
}

// loadDelegators reads who delegated the plan of the call, from caches.
func (s *Service) loadDelegators(ctx context.Context, c *call, v *view) error {
	if !v.delegated() {
		return nil
	}
	lineage := v.plan.Lineage()
	v.delegators = make([]*delegator, 0, len(lineage)-1)
	for i := range lineage[:len(lineage)-1] {
		made, from := &lineage[i].Binding, &lineage[i+1].Binding
		if i > 0 && sameDelegator(made, &lineage[i-1].Binding) && sameDelegator(from, made) {
			v.delegators = append(v.delegators, v.delegators[i-1])
			continue
		}
		d, err := s.loadDelegator(ctx, v, *made, *from)
		if err != nil {
			return err
		}
		v.delegators = append(v.delegators, &d)
	}
	return s.endDelegated(ctx, v, lineage)
}

// sameDelegator reports whether two bindings are of the same key, agent and user, so that what is read of them is.
func sameDelegator(a, b *plan.Binding) bool {
	return a.OrgID == b.OrgID && a.KeyID == b.KeyID && a.AgentID == b.AgentID && a.UserID == b.UserID &&
		a.Email == b.Email
}

// loadDelegator reads the key that made a delegation, and the agent and user of the plan that it came from.
func (s *Service) loadDelegator(ctx context.Context, v *view, made, from plan.Binding) (delegator, error) {
	key, err := s.keyStatusOf(ctx, made.OrgID, made.KeyID, v.policies.Version)
	if err != nil || key.holder == nil {
		return delegator{keyID: made.KeyID, key: key}, err
	}
	d := delegator{keyID: made.KeyID, key: key, id: stated(from.AgentID)}
	if d.agent, err = s.agentStanding(ctx, standingKey{made.OrgID, d.id, made.KeyID}, v.policies.Version); err != nil {
		return delegator{}, err
	}
	d.unknown = d.agent.Counting.HasBudget() && !s.agents.BudgetsKnown(made.OrgID)
	owner, err := s.party(ctx, made.OrgID, key.holder.UserID, "", v.policies.Version)
	if err != nil {
		return delegator{}, err
	}
	d.owner = owner.user
	d.owner.ID = key.holder.UserID
	of := Request{UserID: stated(from.UserID), UserEmail: stated(from.Email)}
	of.readEmail()
	d.user = d.owner
	if of.UserID != "" || of.UserEmail != "" {
		named, err := s.party(ctx, made.OrgID, of.UserID, of.UserEmail, v.policies.Version)
		if err != nil {
			return delegator{}, err
		}
		if d.user = named.user; d.user.ID == "" {
			d.user = toolcall.User{ID: of.UserID, Email: of.UserEmail}
		}
	}
	return d, nil
}

// refuseDelegators is the deny of a call that was delegated by somebody who may not act.
func (v *view) refuseDelegators(now time.Time) (engine.Decision, bool) {
	for _, d := range v.delegators {
		switch {
		case !d.key.validAt(now):
			return refuse(policy.ByAgent, "key", "the API key that delegated this call is not valid any more"), true
		case d.unknown:
			return refuse(policy.ByAgent, "budget",
				"who delegated this call has a budget, and this server cannot read what was spent: try again later"), true
		}
		if refused, ok := refuseAgent(&d.agent, d.id); ok {
			refused.Reason = "who delegated this call may not act: " + refused.Reason
			return refused, true
		}
	}
	return engine.Decision{}, false
}

// asked is whom policies are asked about, and for what they act.
type asked struct {
	key         toolcall.Key
	agent       toolcall.Agent
	user        toolcall.User
	environment string
	intent      toolcall.Intent
}

func askedBy(c *toolcall.Call) asked { return asked{c.Key, c.Agent, c.User, c.Environment, c.Intent} }

// readsIntent reports whether a policy asks what a call is for.
func (v *view) readsIntent() bool {
	return v.policies.Set.ReadsIntent() || slices.ContainsFunc(v.policies.Shadows, func(s policy.Shadow) bool {
		return s.Set != nil && s.Set.ReadsIntent()
	})
}

// asDelegators asks the questions for those who delegated the call, too. Each is asked about once.
func (v *view) asDelegators(own []engine.Question) []engine.Question {
	questions := own
	reads := v.readsIntent()
	alike := func(a asked) asked {
		if !reads {
			a.intent = toolcall.Intent{}
		}
		return a
	}
	known := []asked{alike(askedBy(own[0].Call))}
	for i := range v.delegators {
		if !reads && i > 0 && v.delegators[i] == v.delegators[i-1] {
			continue
		}
		by := v.askedAbove(i, own[0].Call)
		if slices.Contains(known, alike(by)) {
			continue
		}
		known = append(known, alike(by))
		for _, q := range own {
			call := *q.Call
			call.Key, call.Agent, call.User = by.key, by.agent, by.user
			call.Environment, call.Intent = by.environment, by.intent
			questions = append(questions, engine.Question{Call: &call, Naming: q.Naming})
		}
	}
	return questions
}

// askedAbove is a delegator, acting for the plan that it delegated from. The session is that of the call: see
// sessionAbove.
func (v *view) askedAbove(i int, call *toolcall.Call) asked {
	d, from := v.delegators[i], v.plan.Chain[i]
	a := asked{
		key:  toolcall.Key{ID: d.keyID, OwnerID: d.owner.ID, OwnerRole: d.owner.Role},
		user: d.user,
		agent: toolcall.Agent{
			ID: d.id, Name: d.agent.Name, Status: string(d.agent.Status), Registered: d.agent.Registered,
		},
		intent: toolcall.Intent{
			PlanID: from.ID, Goal: from.Plan.Goal, Declared: true, Grounded: call.Intent.Grounded,
		},
	}
	if a.environment = call.Environment; d.key.holder != nil && d.key.holder.Environment != "" {
		a.environment = d.key.holder.Environment
	}
	if d.agent.Proven {
		a.key.AgentID = d.id
	}
	if len(v.chain) > i+1 && len(v.chain[i+1]) > 0 {
		a.intent.Step = strconv.Itoa(v.chain[i+1][0])
	}
	return a
}

// sessionAbove is the session that the calls under a delegation belong to, whichever they state: that of the plan which
// was declared. A call of that plan could state no other, and what counts in a session is not evaded by delegating.
func (v *view) sessionAbove() string {
	if !v.delegated() || len(v.plan.Chain) == 0 {
		return ""
	}
	return stated(v.plan.Chain[len(v.plan.Chain)-1].Binding.Session)
}

func (v *view) delegatorOwners() []string {
	var owners []string
	for i := range v.delegators {
		owners = append(owners, v.delegators[i].owner.ID)
	}
	return owners
}
