package enforcement

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// CheckApproved answers whether a call was approved to a client that does not tell
// its arguments; nil for no. A grant that is released is used up: the client runs the
// call on our word. So it is released only where a decision about the call would use
// it now. Where anything changed meanwhile the answer is no, and clients ask again.
func (s *Service) CheckApproved(
	ctx context.Context, p principal.Principal, q approval.Question,
) (released *approval.Release, err error) {
	found, err := s.approvals.FindReleasable(ctx, s.db, p, q, s.db.Now())
	if err != nil || found == nil {
		return nil, err
	}
	v, usable, err := s.wouldUse(ctx, p, found)
	if err != nil || !usable {
		return nil, err
	}
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		released, err = s.release(ctx, tx, p, q, v.policies.Version)
		return err
	})
	if err != nil {
		return nil, err
	}
	return released, nil
}

// release records the answer as a decision that uses the grant, unless anything
// changed since the call was judged.
func (s *Service) release(
	ctx context.Context, tx *database.Tx, p principal.Principal, q approval.Question, judged audit.Version,
) (*approval.Release, error) {
	now, err := s.log.Version(ctx, tx, audit.LogOf(p.OrgID))
	if err != nil || now != judged {
		return nil, err
	}
	r, err := s.approvals.FindReleasable(ctx, tx, p, q, tx.Now())
	if err != nil || r == nil {
		return nil, err
	}
	decisionID, err := s.recordRelease(ctx, tx, p, r)
	if err != nil {
		return nil, fmt.Errorf("record that the grant of request %s is released: %w", r.ID, err)
	}
	return s.approvals.Release(ctx, tx, r, decisionID)
}

// wouldUse reports whether a decision about a request's call would use its grant now,
// and the view that this holds for. Where the request has the very arguments, the
// call is judged by them; else by whatever rules could want of such a call.
func (s *Service) wouldUse(
	ctx context.Context, p principal.Principal, r *approval.Request,
) (v *view, usable bool, err error) {
	c := callFor(p, Parties{r.AgentID, r.UserID, r.Email})
	c.request.Tool, c.request.SessionID = r.Tool, r.SessionID
	c.request.TokenRequired = true // what the session declared since does not count
	if r.Via == approval.ViaDecision {
		c.request.Presented.PlanID = r.PlanID // else nobody has compared the call with it
	}
	if v, err = s.loadCurrent(ctx, c); err != nil {
		return nil, false, err
	}
	now := s.db.Now()
	if !v.key.validAt(now) || v.leavesPlan(r, now) {
		return v, false, nil
	}
	known, err := s.keptArguments(ctx, c, r)
	if err != nil {
		return nil, false, err
	}
	named := c.toolcall(v, name{r.Server, r.Tool, -1}, now)
	if !known {
		return v, mayBeBlind(v.policies.Set, named, r), nil
	}
	named.Session.Ask = s.figuresFor(ctx, c)(named.Session.ID)
	d := policy.Judge(v.policies.Set, named, s.policies.Spent(ctx, p.OrgID))
	o := &outcome{candidate: candidate{Decision: d}}
	serves := d.Verdict == verdict.Allow || d.Verdict != verdict.Deny && r.Serves(requirementOf(o))
	return v, serves && len(d.Claims) == 0, nil // only a decision takes from limits
}

// leavesPlan reports whether the plan that the call was judged by has ended, or counts
// its calls, which only a decision does.
func (v *view) leavesPlan(r *approval.Request, now time.Time) bool {
	if v.presented.PlanID == "" {
		return false
	}
	if v.plan == nil || v.plan.Plan == nil {
		return true
	}
	shown := v.presented
	shown.Signature = v.plan.Signature // the request is the proof
	if !plan.CheckPresented(v.plan, shown, plan.Binding{OrgID: r.OrgID, KeyID: r.KeyID}, now).OK {
		return true
	}
	declared := v.plan.Plan
	counted := r.Step < 0 || r.Step >= len(declared.Steps) || declared.Steps[r.Step].MaxCalls > 0
	return declared.Ordered || counted
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
	c.args.Decoded, err = toolcall.Decode([]byte(r.Arguments))
	return err == nil, err
}

// mayBeBlind reports whether policies let a call be approved of which nobody can
// tell the arguments: the tool is not denied whatever they are, and no rule about it
// could want more of approvers than was given.
func mayBeBlind(set *engine.Set, named *toolcall.Call, r *approval.Request) bool {
	given := document.Approvers{Role: cmp.Or(r.Role, string(principal.Approver)), Count: r.Needed}
	for _, caller := range policy.Callers(set, named) {
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

// recordRelease records, as a decision, that a client is told to run a call by its
// approval alone, and gives the decision's id.
func (s *Service) recordRelease(
	ctx context.Context, tx *database.Tx, by principal.Principal, r *approval.Request,
) (string, error) {
	c := &call{
		by:      by,
		id:      database.NewID(),
		started: time.Now(),
		digest:  r.Digest,
		request: Request{
			Server:      r.Server,
			Tool:        r.Tool,
			AgentID:     r.AgentID,
			UserID:      r.UserID,
			UserEmail:   r.Email,
			SessionID:   r.SessionID,
			Environment: by.Environment,
		},
	}
	c.args.Incomplete = true
	if r.Arguments != "" {
		c.args.Shown = []byte(r.Arguments)
	}
	o := &outcome{approval: r, used: true, step: -1, candidate: candidate{server: r.Server}}
	o.Ruling = verdict.Ruling{
		Verdict:       verdict.Hold,
		PolicyID:      r.PolicyID,
		PolicyVersion: r.PolicyVersion,
		Rule:          r.Rule,
		Reason:        r.Reason,
		Message:       r.Message,
	}
	if r.PlanID != "" && r.Via == approval.ViaDecision { // else nobody has checked that it is the call's
		o.plan, o.step = &plan.Declared{ID: r.PlanID}, r.Step
	}
	_, err := s.record(ctx, tx, c, o)
	return c.id, err
}
