package approvals

import (
	"context"

	"writ/internal/api/route"
	"writ/internal/approval"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountAnswering serves people who answer. The owner of the key answers an ask and need not be an approver, so the
// routes let every member in and the area checks who may answer.
func (h *Handlers) mountAnswering(r *route.Router) {
	route.Handle(r, route.Post("/delegation/preview", "What a yes would permit, in words; nothing is changed").
		For(route.Person).Needs(principal.OwnKeys).Unrecorded(), h.preview)
	route.Handle(r, route.Post("/delegation/approve", "Say yes to a call: once, unless the scope says more").
		For(route.Person).Needs(principal.OwnKeys).Throttled(throttle.AnswerApproval).
		Records("approval.approved"), h.approve)
	route.Handle(r, route.Post("/delegation/reject", "Say no to a call; the note is told to the agent").
		For(route.Person).Needs(principal.OwnKeys).Throttled(throttle.AnswerApproval).
		Records("approval.rejected"), h.reject)
}

// ScopeBody is how far a yes goes.
type ScopeBody struct {
	Kind    approval.ScopeKind `json:"kind" enum:"once,session,minutes,pattern,plan" doc:"once: one run of the very call. The others end by themselves, and can be taken back: calls of this tool in the session, for some minutes, with arguments that fit; or all that the plan holds."`
	Minutes int                `json:"minutes,omitempty" minimum:"1" maximum:"480" doc:"How long it lasts; not with once."`
	Uses    int                `json:"uses,omitempty" minimum:"1" maximum:"1000" doc:"For how many calls at most; not with once."`
	Pattern route.SentObject   `json:"pattern,omitempty" doc:"Only with pattern: what arguments must be, by dotted path."`
}

type approveInput struct {
	route.OrganizationQuery
	Body struct {
		ApprovalNamedBody
		Note      string           `json:"note,omitempty" maxLength:"1000" doc:"Why; it is recorded."`
		Scope     *ScopeBody       `json:"scope,omitempty" doc:"Absent: once."`
		Arguments route.SentObject `json:"arguments,omitempty" doc:"Run it with these instead; only with once. The agent is told to call with them, and that call is judged like any other."`
	}
}

// AnsweredBody is a request that was answered.
type AnsweredBody struct {
	ApprovalBody
	Permits string `json:"permits,omitempty" doc:"What the yes permits, in words; absent where more yeses are needed."`
}

func (h *Handlers) approve(ctx context.Context, caller principal.Principal, in *approveInput) (AnsweredBody, error) {
	yes := approval.Approval{Note: in.Body.Note, Arguments: in.Body.Arguments.OrNone()}
	if in.Body.Scope != nil {
		scope, err := scopeOf(*in.Body.Scope)
		if err != nil {
			return AnsweredBody{}, err
		}
		yes.Scope = scope
	}
	request, err := h.Approvals.Approve(ctx, caller, in.Body.ID, yes)
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
		scope.Pattern, err = approval.ParsePattern(b.Pattern)
	}
	return scope, err
}

type rejectInput struct {
	route.OrganizationQuery
	Body struct {
		ApprovalNamedBody
		Note string `json:"note,omitempty" maxLength:"1000" doc:"Why; the agent is told, and it is recorded."`
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

// PreviewBody is what a yes would permit.
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
