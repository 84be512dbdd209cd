package enforcement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// findApproval finds the answer to a hold or ask, or opens a request for one. An answer to exactly this call counts
// before a standing approval.
func (s *Service) findApproval(ctx context.Context, tx *database.Tx, c *call, o *outcome) error {
	asked, want := c.approvalCall(o), requirementOf(o)
	request, err := s.approvals.Find(ctx, tx, asked, want)
	if err != nil {
		return err
	}
	o.approval = request
	if request != nil && o.applyAnswer(request, tx) {
		return nil
	}
	standing, err := s.approvals.FindStanding(ctx, tx, asked, want)
	if err != nil {
		return err
	}
	if standing != nil && !o.gaveToSelf(standing, c.by.UserID) {
		o.standing, o.used = standing, true
		return nil
	}
	if request != nil {
		return approval.Repeat(ctx, tx, request)
	}
	request, err = s.approvals.Open(ctx, tx, asked, want)
	if errors.Is(err, approval.ErrTooMany) {
		o.Decision = refuse(policy.ByApproval, "too_many", approval.ErrTooMany.Message)
		return nil
	}
	o.approval, o.opened = request, err == nil
	return err
}

// gaveToSelf reports whether a standing approval of the delegate's calls was given by somebody who delegated this one,
// and who could not approve it. Where it is the delegate's own, the organization lets people approve their own.
func (o *outcome) gaveToSelf(a *approval.StandingApproval, ownerID string) bool {
	return a.GivenBy != ownerID && slices.Contains(o.delegatedBy, a.GivenBy)
}

// applyAnswer applies a person's answer to exactly this call, and reports whether there is one.
func (o *outcome) applyAnswer(request *approval.Request, tx *database.Tx) bool {
	switch {
	case request.Granted(tx.Now()):
		o.used = true
	case request.Changed(tx.Now()):
		o.Decision = refuse(policy.ByApproval, "changed",
			"approved with changes: the answer to the agent says what to call")
		o.agentMessage = "approved with changes: call again with " + request.Edited
		if request.Edited == "" {
			o.agentMessage = "approved with changes, and these were erased: ask again"
		}
	case request.Status == approval.Rejected:
		reason := "an approver said no, and gave no reason: ask a person before you try again"
		if request.Note != "" {
			reason = "an approver said no: " + request.Note
		}
		o.Decision = refuse(policy.ByApproval, "rejected", reason)
	default:
		return false
	}
	return true
}

// consume uses up the approval that lets the call run. It was found in this transaction under the log's lock, so it is
// an error if it is gone.
func (s *Service) consume(ctx context.Context, tx *database.Tx, c *call, o *outcome) error {
	if o.standing != nil {
		used, err := s.approvals.UseStanding(ctx, tx, o.standing, o.approval)
		if err == nil && !used {
			err = fmt.Errorf("use standing approval %s: another call used it at the same time", o.standing.ID)
		}
		return err
	}
	consumed, err := s.approvals.Consume(ctx, tx, o.approval, c.id)
	if err == nil && !consumed {
		err = fmt.Errorf("use the approval of request %s: another call used it at the same time", o.approval.ID)
	}
	return err
}

// approvalCall is the call as an approver sees it.
func (c *call) approvalCall(o *outcome) approval.Call {
	r := &c.request
	_, tool := toolname.Resolve(o.tool(c), o.server, r.Source)
	asked := approval.Call{
		OrgID:     c.by.OrgID,
		KeyID:     c.by.KeyID,
		OwnerID:   c.by.UserID,
		Server:    o.server,
		Tool:      tool,
		Digest:    c.digest,
		Arguments: string(c.args.Shown),
		Canonical: c.args.Canonical.Text(),
		UserID:    r.UserID,
		Email:     r.UserEmail,
		AgentID:   r.AgentID,
		SessionID: r.SessionID,
		Step:      -1,
		Labels:    r.Labels,
		Widens:    o.widened || o.grounded.outside,
		Carried:   r.Carried != nil,
		Delegated: len(o.delegatedBy) > 0,
		Since:     o.endedBefore,
	}
	if o.plan != nil {
		asked.PlanID, asked.PlanSince = o.plan.ID, o.plan.Since()
		completeFromPlan(&asked, o.plan.Binding)
	}
	if len(o.steps) > 0 {
		asked.Step = o.steps[0]
	}
	return asked
}

// completeFromPlan adds the plan's user and agent to a call that names none. Otherwise a person could approve the calls
// of a plan declared for them because the calls leave out their name.
func completeFromPlan(asked *approval.Call, by plan.Binding) {
	if asked.UserID == "" && asked.Email == "" {
		asked.UserID = cmp.Or(by.UserID, by.Email)
	}
	asked.AgentID = cmp.Or(asked.AgentID, by.AgentID)
}

func requirementOf(o *outcome) approval.Requirement {
	kind := approval.Hold
	if o.Verdict == verdict.Ask {
		kind = approval.Ask
	}
	return approval.Requirement{
		Kind:          kind,
		PolicyID:      o.PolicyID,
		PolicyVersion: o.PolicyVersion,
		Rule:          o.Rule,
		Reason:        o.Reason,
		Message:       o.Message,
		Approvers:     o.Approvers,
		Grounding:     o.grounded.Doubts,
		Doubted:       o.grounded.doubted() || o.PolicyID == policy.ByMCP,
	}
}

// finish turns a decision whose approval was used into an allow by that approval.
func (o *outcome) finish() {
	if !o.used {
		return
	}
	o.Verdict, o.PolicyID = verdict.Allow, policy.ByApproval
	if o.standing != nil {
		o.Reason = "approved for more than one call: " + o.Reason
		return
	}
	o.Reason = "approved, once: " + o.Reason
}

// approvalID is the request that a decision waits for, or whose approval it used.
func (o *outcome) approvalID() string {
	switch {
	case o.standing != nil:
		return o.standing.RequestID
	case o.approval != nil:
		return o.approval.ID
	}
	return ""
}
