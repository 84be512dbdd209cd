package api

import (
	"context"
	"net/http"

	"writ/internal/approval"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountAnswering serves people who answer. An ask is answered by the owner of the
// key, who need not be an approver: the area knows who may.
func (a *API) mountAnswering() {
	answer := func(path, summary, records string) Route {
		return Route{
			Method: http.MethodPost, Path: "/delegation" + path, Tag: delegationTag, Summary: summary,
			Mode: JWT, Action: principal.OwnKeys, Throttle: throttle.AnswerApproval, Audit: records,
		}
	}
	a.mountPreview()
	handle(a, answer("/approve", "Say yes to a call: once, unless the scope says more", "approval.approved"), a.approve)
	handle(a, answer("/reject", "Say no to a call; the note is told to the agent", "approval.rejected"), a.reject)
}

// mountPreview tells an approver in words what a yes would permit.
func (a *API) mountPreview() {
	handle(a, Route{
		Method: http.MethodPost, Path: "/delegation/preview", Tag: delegationTag,
		Summary: "What a yes would permit, in words; nothing is changed",
		Mode:    JWT, Action: principal.OwnKeys, Audit: notRecorded,
	}, a.previewApproval)
}

// ScopeBody is how far a yes goes.
type ScopeBody struct {
	Kind    approval.ScopeKind `json:"kind" enum:"once,session,minutes,pattern,plan" doc:"once: one run of the very call. The others end by themselves, and can be taken back: calls of this tool in the session, for some minutes, with arguments that fit; or all that the plan holds."`
	Minutes int                `json:"minutes,omitempty" minimum:"1" maximum:"480" doc:"How long it lasts; not with once."`
	Uses    int                `json:"uses,omitempty" minimum:"1" maximum:"1000" doc:"For how many calls at most; not with once."`
	Pattern sentObject         `json:"pattern,omitempty" doc:"Only with pattern: what arguments must be, by dotted path."`
}

type approveInput struct {
	OrganizationQuery
	Body struct {
		ApprovalNamedBody
		Note      string     `json:"note,omitempty" maxLength:"1000" doc:"Why; it is recorded."`
		Scope     *ScopeBody `json:"scope,omitempty" doc:"Absent: once."`
		Arguments sentObject `json:"arguments,omitempty" doc:"Run it with these instead; only with once. The agent is told to call with them, and that call is judged like any other."`
	}
}

// AnsweredBody is a request that was answered.
type AnsweredBody struct {
	ApprovalBody
	Permits string `json:"permits,omitempty" doc:"What the yes permits, in words; absent where more yeses are needed."`
}

type answeredOutput struct{ Body AnsweredBody }

func (a *API) approve(ctx context.Context, caller principal.Principal, in *approveInput) (*answeredOutput, error) {
	yes := approval.Approval{Note: in.Body.Note, Arguments: in.Body.Arguments.OrNone()}
	if in.Body.Scope != nil {
		scope, err := scopeOf(*in.Body.Scope)
		if err != nil {
			return nil, err
		}
		yes.Scope = scope
	}
	request, err := a.Approvals.Approve(ctx, caller, in.Body.ID, yes)
	if err != nil {
		return nil, err
	}
	out := &answeredOutput{AnsweredBody{ApprovalBody: approvalBody(caller, request)}}
	if request.Status == approval.Approved {
		out.Body.Permits = request.Scope.Words(request)
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
	OrganizationQuery
	Body struct {
		ApprovalNamedBody
		Note string `json:"note,omitempty" maxLength:"1000" doc:"Why; the agent is told, and it is recorded."`
	}
}

func (a *API) reject(ctx context.Context, caller principal.Principal, in *rejectInput) (*answeredOutput, error) {
	request, err := a.Approvals.Reject(ctx, caller, in.Body.ID, in.Body.Note)
	if err != nil {
		return nil, err
	}
	return &answeredOutput{AnsweredBody{ApprovalBody: approvalBody(caller, request)}}, nil
}

type previewInput struct {
	OrganizationQuery
	Body struct {
		ApprovalNamedBody
		Scope *ScopeBody `json:"scope,omitempty" doc:"Absent: once."`
	}
}

// PreviewBody is what a yes would permit.
type PreviewBody struct {
	Permits string `json:"permits" doc:"In words."`
}

type previewOutput struct{ Body PreviewBody }

func (a *API) previewApproval(
	ctx context.Context, caller principal.Principal, in *previewInput,
) (*previewOutput, error) {
	request, err := a.Approvals.Get(ctx, caller, in.Body.ID)
	if err != nil {
		return nil, err
	}
	var scope approval.Scope
	if in.Body.Scope != nil {
		if scope, err = scopeOf(*in.Body.Scope); err != nil {
			return nil, err
		}
	}
	words, err := request.Permits(scope)
	if err != nil {
		return nil, err
	}
	return &previewOutput{PreviewBody{words}}, nil
}
