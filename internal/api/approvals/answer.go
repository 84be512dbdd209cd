package approvals

import (
	"context"

	"writ/internal/api/route"
	"writ/internal/approval"
	"writ/internal/approval/pattern"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountAnswering serves people who answer. The owner of the key answers an ask and need not be an approver, so the
// routes admit every member and the service checks the right to answer.
func (h *Handlers) mountAnswering(r *route.Router) {
	route.Handle(r, route.Post("/delegation/preview", "Describe what an approval would permit; nothing is changed").
		For(route.Person).Needs(principal.OwnKeys).Unrecorded().Configures().NamesApproval(approvalID), h.preview)
	route.Handle(r, route.Post("/delegation/approve", "Approve a call: once, unless the scope permits more").
		For(route.Person).Needs(principal.OwnKeys).Throttled(throttle.AnswerApproval).
		Records("approval.approved").Configures().NamesApproval(approvalID), h.approve)
	route.Handle(r, route.Post("/delegation/reject", "Reject a call; the agent gets the note").
		For(route.Person).Needs(principal.OwnKeys).Throttled(throttle.AnswerApproval).
		Records("approval.rejected").Configures().NamesApproval(approvalID), h.reject)
}

// ScopeBody is what an approval permits.
type ScopeBody struct {
	Kind    approval.ScopeKind `json:"kind" enum:"once,session,minutes,pattern,plan" doc:"once: exactly this call, once. The others are standing approvals, which end by themselves and can be revoked: for calls of this tool in the session, for some minutes, or with arguments that fit the pattern; or for all calls of the plan."`
	Minutes int                `json:"minutes,omitempty" minimum:"1" maximum:"480" doc:"How long it lasts; not with once."`
	Uses    int                `json:"uses,omitempty" minimum:"1" maximum:"1000" doc:"For how many calls at most; not with once."`
	Pattern route.SentObject   `json:"pattern,omitempty" doc:"Only with pattern: the permitted values of arguments, by dotted path."`
}

type approveInput struct {
	route.OrganizationQuery
	Body struct {
		ApprovalNamedBody
		Note      string           `json:"note,omitempty" maxLength:"1000" doc:"Why; it is recorded."`
		Scope     *ScopeBody       `json:"scope,omitempty" doc:"Absent: once."`
		Arguments route.SentObject `json:"arguments,omitempty" doc:"Run it with these instead; only with once. The agent gets them and must call again, and that call is decided like any other."`
	}
}

// AnsweredBody is a request that was answered.
type AnsweredBody struct {
	ApprovalBody
	Permits string `json:"permits,omitempty" doc:"What the approval permits, in words; absent while more approvers are needed."`
}

func (h *Handlers) approve(ctx context.Context, caller principal.Principal, in *approveInput) (AnsweredBody, error) {
	given := approval.Approval{Note: in.Body.Note, Arguments: in.Body.Arguments.OrNone()}
	if in.Body.Scope != nil {
		scope, err := scopeOf(*in.Body.Scope)
		if err != nil {
			return AnsweredBody{}, err
		}
		given.Scope = scope
	}
	request, err := h.Approvals.Approve(ctx, caller, in.Body.ID, given)
	if err != nil {
		return AnsweredBody{}, err
	}
	out := AnsweredBody{ApprovalBody: approvalBody(caller, request)}
	if request.Status == approval.Approved {
		out.Permits = request.Scope.Words(request)
	}
	return out, nil
}

func scopeOf(b ScopeBody) (scope approval.Scope, err error) {
	scope = approval.Scope{Kind: b.Kind, Minutes: b.Minutes, Uses: b.Uses}
	if len(b.Pattern) > 0 {
		scope.Pattern, err = pattern.Parse(b.Pattern)
	}
	return scope, err
}

type rejectInput struct {
	route.OrganizationQuery
	Body struct {
		ApprovalNamedBody
		Note string `json:"note,omitempty" maxLength:"1000" doc:"Why; the agent gets it, and it is recorded."`
	}
}

func (h *Handlers) reject(ctx context.Context, caller principal.Principal, in *rejectInput) (AnsweredBody, error) {
	request, err := h.Approvals.Reject(ctx, caller, in.Body.ID, in.Body.Note)
	return AnsweredBody{ApprovalBody: approvalBody(caller, request)}, err
}

type previewInput struct {
	route.OrganizationQuery
	Body struct {
		ApprovalNamedBody
		Scope *ScopeBody `json:"scope,omitempty" doc:"Absent: once."`
	}
}

// PreviewBody is what an approval would permit.
type PreviewBody struct {
	Permits string `json:"permits" doc:"In words."`
}

func (h *Handlers) preview(ctx context.Context, caller principal.Principal, in *previewInput) (PreviewBody, error) {
	request, err := h.Approvals.Get(ctx, caller, in.Body.ID)
	if err != nil {
		return PreviewBody{}, err
	}
	var scope approval.Scope
	if in.Body.Scope != nil {
		if scope, err = scopeOf(*in.Body.Scope); err != nil {
			return PreviewBody{}, err
		}
	}
	words, err := request.Permits(scope)
	return PreviewBody{words}, err
}
