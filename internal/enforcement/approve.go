package enforcement

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// seekApproval looks for an answer to the hold or ask, and asks where there is
// none. An answer to the very call counts before a wider yes.
func (s *Service) seekApproval(ctx context.Context, tx *database.Tx, c *call, o *outcome) error {
	asked, want := c.asked(o), requirementOf(o)
	request, err := s.approvals.Find(ctx, tx, asked, want)
	if err != nil {
		return err
	}
	o.approval = request
	if request != nil && o.answered(request, tx) {
		return nil
	}
	if o.standing, err = s.approvals.FindStanding(ctx, tx, asked, want); err != nil || o.standing != nil {
		o.used = err == nil
		return err
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

// answered takes over what a person said about the very call, and reports whether
// anything was said.
func (o *outcome) answered(request *approval.Request, tx *database.Tx) bool {
	switch {
	case request.Granted(tx.Now()):
		o.used = true
	case request.Changed(tx.Now()):
		o.Decision = refuse(policy.ByApproval, "changed",
			"approved with changes: the agent is told what to call")
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

// consume uses up what lets the call run. It was found in this transaction, under
// the log's lock: that it is gone means that something is wrong.
func (s *Service) consume(ctx context.Context, tx *database.Tx, c *call, o *outcome) error {
	if o.standing != nil {
		used, err := s.approvals.UseStanding(ctx, tx, o.standing, o.approval)
		if err == nil && !used {
			err = fmt.Errorf("use temporary allow %s: it was used by another at the same time", o.standing.ID)
		}
		return err
	}
	consumed, err := s.approvals.Consume(ctx, tx, o.approval, c.id)
	if err == nil && !consumed {
		err = fmt.Errorf("use the approval of request %s: it was used by another at the same time", o.approval.ID)
	}
	return err
}

// asked is the call as a person is asked about it.
func (c *call) asked(o *outcome) approval.Call {
	r := &c.request
	_, tool := plan.ResolveName(r.Tool, o.server, r.Source)
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
		Widens:    o.widened,
	}
	if o.plan != nil {
		asked.PlanID = o.plan.ID
		declaredFor(&asked, o.plan.Binding)
	}
	if len(o.steps) > 0 {
		asked.Step = o.steps[0]
	}
	return asked
}

// declaredFor completes whom a call is for and who makes it by what its plan says:
// a person for whom a plan was declared does not approve its calls because they
// leave the name out.
func declaredFor(asked *approval.Call, by plan.Binding) {
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
	}
}

// finish names who decided in the end: the yes where one was used.
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

// approvalID is the request that a decision waits for, or whose yes it used.
func (o *outcome) approvalID() string {
	switch {
	case o.standing != nil:
		return o.standing.RequestID
	case o.approval != nil:
		return o.approval.ID
	}
	return ""
}
