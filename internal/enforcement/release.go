package enforcement

import (
	"bytes"
	"cmp"
	"context"

	"writ/internal/approval"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Denies reports whether a request's grant must not be given out to a client that
// does not tell the arguments again: a decision about the call would not take it
// now. Where the request has kept the very arguments, the call is judged by them;
// else by whatever rules could want of such a call. It tells the generation of the
// log that this holds for.
func (s *Service) Denies(
	ctx context.Context, by principal.Principal, r *approval.Request,
) (denied bool, generation int64, err error) {
	v := &view{}
	if v.policies, err = s.policies.Snapshot(ctx, by.OrgID); err != nil {
		return true, 0, err
	}
	c := &call{by: by, request: Request{
		Tool:        r.Tool,
		AgentID:     r.AgentID,
		UserID:      r.UserID,
		UserEmail:   r.Email,
		SessionID:   r.SessionID,
		Environment: by.Environment,
	}}
	if err := s.loadPeople(ctx, c, v); err != nil {
		return true, 0, err
	}
	if ended, err := s.leavesPlan(ctx, v, r); err != nil || ended {
		return true, v.policies.Generation, err
	}
	known, err := s.keptArguments(ctx, c, r)
	if err != nil {
		return true, 0, err
	}
	named := c.toolcall(v, name{r.Server, r.Tool, -1}, s.db.Now())
	if !known {
		return !mayBeBlind(v.policies.Set, named, r), v.policies.Generation, nil
	}
	named.Session.Ask = s.figuresFor(ctx, c)(named.Session.ID)
	d := policy.Judge(v.policies.Set, named, s.policies.Spent(ctx, by.OrgID))
	o := &outcome{candidate: candidate{Decision: d}}
	served := d.Verdict == verdict.Allow || d.Verdict != verdict.Deny && r.Serves(requirementOf(o))
	return !served || len(d.Claims) > 0, v.policies.Generation, nil // only a decision takes from limits
}

// leavesPlan reports whether the plan that the call was judged by does not stand any
// more, or counts its calls, which only a decision does.
func (s *Service) leavesPlan(ctx context.Context, v *view, r *approval.Request) (bool, error) {
	if r.PlanID == "" || r.Via != approval.ViaDecision {
		return false, nil // nobody has compared the call with what a client names
	}
	shown := plan.Presented{PlanID: r.PlanID}
	d, err := s.plans.Find(ctx, r.OrgID, v.policies.Generation, shown)
	if err != nil || d == nil || d.Plan == nil {
		return true, err
	}
	shown.Signature = d.Signature
	if !plan.CheckPresented(d, shown, plan.Binding{OrgID: r.OrgID, KeyID: r.KeyID}, s.db.Now()).OK {
		return true, nil
	}
	v.plan = d
	counted := r.Step < 0 || r.Step >= len(d.Plan.Steps) || d.Plan.Steps[r.Step].MaxCalls > 0
	return d.Plan.Ordered || counted, nil
}

// keptArguments reads the arguments that a request has kept, and reports whether
// they are the call's own: some are kept in part, or not at all.
func (s *Service) keptArguments(ctx context.Context, c *call, r *approval.Request) (bool, error) {
	if len(r.Digest) == 0 || r.Arguments == "" {
		return false, nil
	}
	digester, err := s.plans.Digester(ctx, r.OrgID)
	if err != nil {
		return false, err
	}
	if digest := digester.Arguments(r.Arguments); !bytes.Equal(digest[:], r.Digest) {
		return false, nil
	}
	c.decoded, err = toolcall.Decode([]byte(r.Arguments))
	return err == nil, err
}

// mayBeBlind reports whether policies let a call be approved of which nobody can
// tell the arguments: the tool is not denied whatever they are, and no rule about it
// could want more of approvers than was given.
func mayBeBlind(set *engine.Set, named *toolcall.Call, r *approval.Request) bool {
	alone := *named
	alone.Key.Alone, alone.User.Role = true, named.Key.OwnerRole
	given := document.Approvers{Role: cmp.Or(r.Role, string(principal.Approver)), Count: r.Needed}
	for _, caller := range [...]*toolcall.Call{named, &alone} {
		if f := set.Foresee(caller); f.Certain && f.Verdict == verdict.Deny {
			return false
		}
		for _, wanted := range set.Approvers(caller) {
			if *policy.MoreApprovers(&given, &wanted) != given {
				return false
			}
		}
	}
	return true
}
