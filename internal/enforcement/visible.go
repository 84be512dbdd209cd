package enforcement

import (
	"context"
	"errors"
	"time"

	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/names"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// Visible reports of each tool whether a call of it may ever run for the caller: at once, or once a person agrees. What
// is certain to be denied whatever its arguments, by the plan or a policy, is not visible, nor is what nobody has
// accepted. r says who calls and with which plan. The fault is why the caller may call nothing at all. It decides
// nothing: a call of a visible tool is judged like any other.
func (s *Service) Visible(
	ctx context.Context, p principal.Principal, r Request, tools []toolname.Name,
) ([]bool, error) {
	c, v, err := s.standingOf(ctx, p, r)
	if err != nil {
		return nil, err
	}
	now := s.db.Now()
	caller := c.toolcall(v, toolname.Name{}, -1, now)
	visible := make([]bool, len(tools))
	for i, tool := range tools {
		questions := engine.Ask(*caller, toolname.Candidates(tool.Tool, tool.Server, ""))
		visible[i] = c.inPlan(v, tool, now) && v.mayAllow(questions, caller)
	}
	return visible, nil
}

// RefuseCaller is why a caller may call nothing now: its key has ended, or it or its agent was stopped or suspended. An
// error that is no Forbidden fault says that nobody knows.
func (s *Service) RefuseCaller(ctx context.Context, p principal.Principal, agentID string) error {
	_, _, err := s.standingOf(ctx, p, Request{AgentID: agentID})
	return err
}

// standingOf loads what calls of a caller are judged by, and refuses who may call nothing.
func (s *Service) standingOf(ctx context.Context, p principal.Principal, r Request) (*call, *view, error) {
	if !p.HasScope(principal.Enforce) || p.OrgID == "" {
		return nil, nil, fault.New(fault.Forbidden, "calls are made with an API key of the scope enforce, in an organization")
	}
	for name, text := range map[string]string{
		"agentId": r.AgentID, "userId": r.UserID, "userEmail": r.UserEmail, "sessionId": r.SessionID,
		"contextId": r.ContextID,
	} {
		if !names.Valid(text) { // a call with it is denied, and no database takes it
			return nil, nil, fault.Field(name, "must be at most 200 bytes without control characters")
		}
	}
	c := callFor(p, Parties{AgentID: r.AgentID, UserID: r.UserID, Email: r.UserEmail})
	c.request.CanOblige = r.CanOblige
	c.request.Presented, c.request.SessionID, c.request.ContextID = r.Presented, r.SessionID, r.ContextID
	v, err := s.loadCurrent(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	caller := c.toolcall(v, toolname.Name{}, -1, s.db.Now())
	if refused, ok := v.refuseKnown(caller); ok {
		return nil, nil, fault.New(fault.Forbidden, "%s", refused.Reason)
	}
	if refused, ok := v.refuseCaller(caller); ok { // nobody knows: what runs goes on
		return nil, nil, fault.New(fault.Unavailable, "%s", refused.Reason)
	}
	return c, v, nil
}

// inPlan reports whether the plan of the caller has the tool, where one is needed.
func (c *call) inPlan(v *view, tool toolname.Name, now time.Time) bool {
	if !c.needsPlan(v) {
		return true
	}
	if v.plan == nil || v.plan.Plan == nil {
		return v.outsidePlan(plan.Missing())
	}
	r := &c.request
	checked := plan.CheckPresented(v.plan, v.presented, plan.Binding{
		OrgID:   c.by.OrgID,
		KeyID:   c.by.KeyID,
		UserID:  r.UserID,
		Email:   r.UserEmail,
		AgentID: r.AgentID,
		Context: r.ContextID,
		Session: r.SessionID,
	}, now)
	if checked.OK {
		checked = v.plan.Fit(plan.Call{Server: tool.Server, Tool: tool.Tool, NoArguments: true})
	}
	return checked.OK || checked.Drift == plan.Widened || v.outsidePlan(checked)
}

// mayAllow reports whether a call of a tool is not certain to be denied, and a person has accepted the tool.
func (v *view) mayAllow(questions []engine.Question, caller *toolcall.Call) bool {
	if _, refused := v.refuseStopped(questions); refused || v.heldFor(questions) != "" {
		return false
	}
	set := v.policies.Set
	for _, by := range policy.Callers(set, caller) {
		asked := make([]engine.Question, len(questions))
		for i, q := range questions {
			named := *by
			named.Server, named.Tool = q.Call.Server, q.Call.Tool
			asked[i] = engine.Question{Call: &named, Naming: q.Naming}
		}
		if f := set.ForeseeNamed(asked); f.Certain && f.Verdict == verdict.Deny {
			return false
		}
	}
	return true
}

// Version is the version of an organization's log now: what was read at it about servers, keys, agents and policies is
// still so at the same version.
func (s *Service) Version(ctx context.Context, orgID string) (audit.Version, error) {
	snapshot, err := s.policies.Snapshot(ctx, orgID)
	if _, broken := errors.AsType[*policy.BrokenError](err); broken {
		err = nil // its version is known all the same
	}
	return snapshot.Version, err
}
