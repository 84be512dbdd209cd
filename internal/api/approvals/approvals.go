// Package approvals serves approvals. Agents ask and wait with their keys; people read and answer with their own
// sign-in. No key of any scope answers anything.
package approvals

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/organization"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// Handlers serve approvals.
type Handlers struct {
	Approvals     *approval.Service
	Enforcement   *enforcement.Service
	Organizations *organization.Service
	Keys          *apikey.Service
	Policies      *policy.Service
	Intent        *intent.Service
	Audit         *audit.Service
	Limiter       *throttle.Limiter

	polls *route.Slots
	watch func(ctx context.Context, caller principal.Principal) (context.Context, context.CancelFunc)
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	h.polls, h.watch = newPolls(), r.Watch
	r = r.Tagged("approvals")
	h.mountAsking(r)
	h.mountAnswering(r)
	h.mountReads(r)
	h.mountStanding(r)
	h.mountSettings(r)
	route.Handle(r,
		route.Get("/delegation/figures",
			"Statistics about answers to requests for approval, in total and by approver: "+
				"how fast, how often with an approval, and how often without reading").
			For(route.Person).Needs(principal.DecideApprovals), h.stats)
}

// DelegationBody is a request for approval as the key that asked sees it. Published
// clients read its first three members, which must be strings.
type DelegationBody struct {
	ID        string          `json:"delegationId" format:"uuid" doc:"Of the request, for published clients; approvalId is the same."`
	Status    approval.Status `json:"status" enum:"pending,approved,rejected,cancelled,expired" doc:"approved: call again with the same arguments, and the call may run once."`
	ExpiresAt time.Time       `json:"expiresAt" doc:"When a pending request expires; until then a rejection is final."`

	ApprovalID string `json:"approvalId" format:"uuid" doc:"Of the request."`

	Kind            approval.Kind       `json:"kind" enum:"hold,ask" doc:"hold: an approver answers; ask: the person the agent works for."`
	Server          string              `json:"server"`
	Tool            string              `json:"tool"`
	Note            string              `json:"note,omitempty" doc:"Written by the person who answered."`
	EditedArguments *route.StoredObject `json:"editedArguments,omitempty" doc:"The approver changed the arguments to these: only a call with them is approved."`
	DecidedAt       *time.Time          `json:"decidedAt" doc:"Null: nobody has answered."`
	GrantExpiresAt  *time.Time          `json:"grantExpiresAt" doc:"When the grant for this call expires; null: there is none, or a standing approval."`
	Used            bool                `json:"used" doc:"Whether the grant was used."`
	Withdrawn       bool                `json:"withdrawn,omitempty" doc:"The kill switch has stopped its agent or key since: a pending request is cancelled, and an approval permits nothing any more."`
	ExecutedAt      *time.Time          `json:"executedAt" doc:"When the client reported that it made the call; null: it has not."`
}

func delegationBody(r approval.Request) DelegationBody {
	body := DelegationBody{
		ID:             r.ID,
		ApprovalID:     r.ID,
		Status:         r.Status,
		ExpiresAt:      r.ExpiresAt,
		Kind:           r.Kind,
		Server:         r.Server,
		Tool:           r.Tool,
		Note:           r.Note,
		DecidedAt:      r.DecidedAt,
		GrantExpiresAt: r.GrantExpiresAt(),
		Used:           r.Used(),
		Withdrawn:      r.Withdrawn,
		ExecutedAt:     r.ExecutedAt,
	}
	if r.Edited != "" {
		edited := route.StoredObject(r.Edited)
		body.EditedArguments = &edited
	}
	return body
}

// ApprovalBody is a request for approval as people see it.
type ApprovalBody struct {
	DelegationBody
	OrganizationID string              `json:"organizationId" format:"uuid"`
	Arguments      *route.StoredObject `json:"arguments" doc:"Of the call, redacted. Null: the client stated none, they are too large to be stored or were erased, or the caller may not read payloads."`
	ArgumentsFrom  string              `json:"argumentsFrom,omitempty" enum:"plan,unknown" doc:"Nobody has seen the call. plan: the arguments are those that its plan states. unknown: nobody has stated any. Absent: the client stated them."`
	Step           *int                `json:"step,omitempty" doc:"The step of the plan that alone is approved, from 0. Absent: the call is."`
	Amount         *float64            `json:"amount" doc:"As the client stated it; null: none."`
	AskedFor       string              `json:"askedFor,omitempty" doc:"The client's own words."`

	KeyID     string `json:"keyId" doc:"The key that asked."`
	OwnerID   string `json:"ownerId" doc:"The person who owns the key."`
	UserID    string `json:"userId,omitempty" doc:"The person the agent works for, according to the client, as are the next four."`
	Email     string `json:"requesterEmail,omitempty"`
	AgentID   string `json:"agentId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	PlanID    string `json:"planId,omitempty"`

	PolicyID      string `json:"policyId,omitempty" doc:"The policy that requires an approval; absent if a client asked before any decision."`
	PolicyVersion int    `json:"policyVersion,omitempty"`
	Rule          string `json:"rule,omitempty"`
	Reason        string `json:"reason,omitempty"`
	Message       string `json:"message,omitempty" doc:"The rule's own words."`

	Grounding []approval.Doubt `json:"grounding,omitempty" doc:"The arguments in doubt, and why, without their values."`

	ApproverRole string `json:"approverRole,omitempty" doc:"The lowest role of an approver; absent: any with the right to approve."`
	Needed       int    `json:"needed" doc:"How many people must approve."`
	SelfApproved bool   `json:"selfApproved" doc:"Whether the requester approved it, because nobody else could or the organization allows it."`
	DecidedBy    string `json:"decidedBy,omitempty" doc:"The person who answered last."`
	CoveredBy    string `json:"coveredBy,omitempty" doc:"The standing approval that answered it."`
	Scope        string `json:"scope,omitempty" doc:"What the approval permits, if it was approved."`

	Risk        RiskBody   `json:"risk" doc:"How much care it deserves, assessed when it was opened."`
	Repeats     int        `json:"repeats" doc:"How often the same call was asked about again."`
	LastAskedAt *time.Time `json:"lastAskedAt" doc:"The last time; null: once only."`
	CreatedAt   time.Time  `json:"createdAt"`
}

// RiskBody is how much care a request deserves.
type RiskBody struct {
	Level   string           `json:"level" enum:"low,medium,high,critical" doc:"Empty: not known."`
	Score   int              `json:"score" doc:"The points behind the level, at most 100."`
	Reasons []RiskReasonBody `json:"reasons" nullable:"false"`
}

// RiskReasonBody is a reason for care.
type RiskReasonBody struct {
	Code  string `json:"code" doc:"For programs."`
	Words string `json:"words" doc:"For people."`
}

func riskBody(assessed approval.Risk) RiskBody {
	body := RiskBody{
		Level: assessed.Level, Score: assessed.Score, Reasons: make([]RiskReasonBody, len(assessed.Reasons)),
	}
	for i, reason := range assessed.Reasons {
		body.Reasons[i] = RiskReasonBody(reason)
	}
	return body
}

// approvalBody shows a request to a person. Arguments are only
// for callers who may read payloads.
func approvalBody(caller principal.Principal, r approval.Request) ApprovalBody {
	body := ApprovalBody{
		DelegationBody: delegationBody(r),
		OrganizationID: r.OrgID,
		ArgumentsFrom:  r.ArgumentsFrom,
		Amount:         r.Amount,
		AskedFor:       r.AskedFor,
		KeyID:          r.KeyID,
		OwnerID:        r.OwnerID,
		UserID:         r.UserID,
		Email:          r.Email,
		AgentID:        r.AgentID,
		SessionID:      r.SessionID,
		PlanID:         r.PlanID,
		PolicyID:       r.PolicyID,
		PolicyVersion:  r.PolicyVersion,
		Rule:           r.Rule,
		Reason:         r.Reason,
		Grounding:      r.Grounding,
		Message:        r.Message,
		ApproverRole:   r.Role,
		Needed:         r.Needed,
		SelfApproved:   r.SelfApproved,
		DecidedBy:      r.DecidedBy,
		CoveredBy:      r.CoveredBy,
		Scope:          string(r.Scope.Kind),
		Risk:           riskBody(r.Risk),
		Repeats:        r.Repeats,
		LastAskedAt:    r.LastAskedAt,
		CreatedAt:      r.CreatedAt,
	}
	if r.Via == approval.ViaStep {
		body.Step = &r.Step
	}
	if !caller.May(principal.ReadPayloads) { // the client's words and the reasons of a risk repeat arguments
		body.EditedArguments, body.Amount, body.AskedFor, body.Risk.Reasons = nil, nil, "", []RiskReasonBody{}
		return body
	}
	if r.Arguments != "" {
		arguments := route.StoredObject(r.Arguments)
		body.Arguments = &arguments
	}
	return body
}
