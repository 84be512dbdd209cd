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

// Sight is how a caller sees a tool.
type Sight struct {
	// Visible: a call of it may ever run.
	Visible bool
	// Redacted: a rule may have members left out of its results, which then have not the form that its server says.
	Redacted bool
}

// Visible reports of each tool whether a call of it may ever run for the caller: at once, or once a person agrees. What
// is certain to be denied whatever its arguments, by the plan or a policy, is not visible, nor is what nobody has
// accepted. r says who calls and with which plan. The fault is why the caller may call nothing at all. It decides
// nothing: a call of a visible tool is judged like any other.
func (s *Service) Visible(
	ctx context.Context, p principal.Principal, r Request, tools []toolname.Name,
) ([]Sight, error) {
	c, v, err := s.standingOf(ctx, p, r)
	if err != nil {
		return nil, err
	}
	now := s.db.Now()
	caller := c.toolcall(v, toolname.Name{}, -1, now)
	seen := make([]Sight, len(tools))
	for i, tool := range tools {
		questions := engine.Ask(*caller, toolname.Candidates(tool.Tool, tool.Server, ""))
		visible := c.inPlan(v, tool, now) && v.mayAllow(questions, caller)
		seen[i] = Sight{visible, visible && v.mayRedact(questions, caller)}
	}
	return seen, nil
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
		if f := set.ForeseeNamed(askedAs(by, questions)); f.Certain && f.Verdict == verdict.Deny {
			return false
		}
	}
	return true
}

// mayRedact reports whether a rule may have members left out of the result of a call.
func (v *view) mayRedact(questions []engine.Question, caller *toolcall.Call) bool {
	set := v.policies.Set
	if !set.Obliges() {
		return false
	}
	for _, by := range policy.Callers(set, caller) {
		f := set.ForeseeNamed(v.asDelegators(askedAs(by, questions)))
		if f.Oblige != nil && len(f.Oblige.Redact) > 0 {
			return true
		}
	}
	return false
}

// askedAs are the questions for another caller.
func askedAs(by *toolcall.Call, questions []engine.Question) []engine.Question {
	asked := make([]engine.Question, len(questions))
	for i, q := range questions {
		named := *by
		named.Server, named.Tool = q.Call.Server, q.Call.Tool
		asked[i] = engine.Question{Call: &named, Naming: q.Naming}
	}
	return asked
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
