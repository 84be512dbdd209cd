package approvals

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"writ/internal/api/route"
	"writ/internal/approval"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountAsking serves the keys of agents. Some clients run the tool anyway after an error, so a
// repeated question is answered and never throttled.
func (h *Handlers) mountAsking(r *route.Router) {
	asks := func(rt route.Route) route.Route { return rt.For(route.Key).Scoped(principal.RequestDelegation) }
	route.HandleOutput(r, asks(route.Post("/delegation/request",
		"Ask a person to approve a call; the same question finds the same request")).
		Records("approval.requested").Answers(http.StatusCreated).ThrottledNew(throttle.OpenApproval).
		Spelled(askNames), h.ask)
	r.DocumentAlso("/delegation/request", http.StatusOK, "A request that was there already")
	route.Handle(r, asks(route.Get("/delegation/poll", "Wait until a request is answered, for up to 25 seconds")).
		StoppedToo(), h.poll)
	route.Handle(r, asks(route.Get("/delegation/check-approved",
		"Whether a person has approved a call of this tool; an answer of true uses up the grant")).
		Records(decision.Action).Changing().StoppedToo(), h.checkApproved)
	route.Handle(r, asks(route.Post("/delegation/mark-executed", "Report that an approved call was made")).
		Records("approval.executed").StoppedToo().NamesApproval(approvalID), h.markExecuted)
	route.Handle(r, asks(route.Get("/delegation/my-role",
		"The role in the organization of the person an agent works for")), h.myRole)
	route.Handle(r, route.Post("/delegation/cancel", "Cancel a request, by the key that asked or its owner").
		For(route.PersonOrKey).Needs(principal.OwnKeys).Scoped(principal.RequestDelegation).
		Records("approval.cancelled").NamesApproval(approvalID), h.cancel)
}

// approvalID is the one name of an approval's id. Published clients say delegationId.
const approvalID = "approvalId"

// askNames are the names of a call here. Published clients send another word than a tool's as action.
var askNames = route.Names{Server: "domain", Tool: "tool", Arguments: "arguments", Others: []string{"action"}}

// UserEmailHeader names the person the agent works for. It is only what the client
// says, and gives no right.
type UserEmailHeader struct {
	UserEmail string `header:"X-User-Email" maxLength:"254" doc:"The person the agent works for."`
}

func (h UserEmailHeader) email() string { return strings.ToLower(strings.TrimSpace(h.UserEmail)) }

type requestApprovalInput struct {
	UserEmailHeader
	Body struct {
		Tool            string           `json:"tool" minLength:"1" maxLength:"200" doc:"The tool's name, as in the request to enforce." example:"pay"`
		Action          string           `json:"action,omitempty" maxLength:"200" doc:"Ignored: published clients send the tool again, or execute." example:"pay"`
		Arguments       route.SentObject `json:"arguments,omitempty" nullable:"true" doc:"The arguments of the call. Without them a person can answer, but the answer allows no call."`
		Amount          *float64         `json:"amount,omitempty" nullable:"true" doc:"What the call is worth, in the client's words."`
		RequesterEmail  string           `json:"requesterEmail" minLength:"1" maxLength:"254" doc:"The person the agent works for; an e-mail or any other id." example:"ada@example.org"`
		RequesterRole   *string          `json:"requesterRole,omitempty" nullable:"true" doc:"Ignored: roles are those of the organization."`
		RequesterLimit  *float64         `json:"requesterLimit,omitempty" nullable:"true" doc:"Ignored: policies set limits."`
		Domain          *string          `json:"domain,omitempty" nullable:"true" maxLength:"200" doc:"The MCP server; also as server or mcp."`
		TargetURL       *string          `json:"targetUrl,omitempty" nullable:"true" doc:"Ignored, like intentReference and merkleRoot: planId identifies the plan."`
		PlanID          *string          `json:"planId,omitempty" nullable:"true" maxLength:"200" doc:"The plan the call belongs to."`
		IntentReference *string          `json:"intentReference,omitempty" nullable:"true"`
		MerkleRoot      *string          `json:"merkleRoot,omitempty" nullable:"true"`
		Reason          *string          `json:"reason,omitempty" nullable:"true" doc:"Why, in the client's words; the first 1000 bytes are stored."`
	}
}

type delegationOutput struct {
	Status int
	Body   DelegationBody
}

func (h *Handlers) ask(
	ctx context.Context, caller principal.Principal, in *requestApprovalInput,
) (*delegationOutput, error) {
	if caller.OrgID == "" {
		return nil, route.NoOrganization()
	}
	b := &in.Body
	server, tool := "", b.Tool
	if route.OrEmpty(b.Domain) == "" { // before the throttle, which must know whether the question is repeated
		named := enforcement.Calling{PlanID: route.OrEmpty(b.PlanID), Tool: b.Tool}
		server, tool = h.Enforcement.Named(ctx, caller, named)
	}
	request, opened, err := h.Approvals.Ask(ctx, caller, approval.Asked{
		Tool:      tool,
		Server:    server,
		Domain:    route.OrEmpty(b.Domain),
		Arguments: b.Arguments.OrNone(),
		Amount:    b.Amount,
		Email:     b.RequesterEmail,
		PlanID:    route.OrEmpty(b.PlanID),
		Reason:    reasonOf(route.OrEmpty(b.Reason)),
		Admit: func(ctx context.Context) error {
			subject := caller.KeyID + " " + b.RequesterEmail
			return h.Limiter.Take(ctx, throttle.OpenApproval, subject, route.RequestOf(ctx).Address)
		},
	})
	if err != nil {
		return nil, err
	}
	out := &delegationOutput{Status: http.StatusOK, Body: delegationBody(request)}
	if opened {
		out.Status = http.StatusCreated
	}
	return out, nil
}

// maxReason is how many bytes of a client's reason are stored.
const maxReason = 1000

// reasonOf cuts a client's reason. Refusing it for its length
// would have some clients run the tool.
func reasonOf(text string) string {
	text = strings.ReplaceAll(text, "\x00", "")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "")
	}
	return text
}

type checkApprovedInput struct {
	UserEmailHeader
	Tool   string `query:"tool" required:"true" minLength:"1" maxLength:"200" doc:"The tool's name."`
	Amount string `query:"amount" maxLength:"40" doc:"What the call is worth, a number; as it was requested."`
}

// CheckApprovedBody says whether a person approved a call.
type CheckApprovedBody struct {
	Approved      bool   `json:"approved" doc:"True: make the call, once. False: ask enforce again, which knows the arguments."`
	ApprovalID    string `json:"approvalId,omitempty" doc:"The request that was approved; only with true, as the next three."`
	DelegationID  string `json:"delegationId,omitempty" doc:"The same, for published clients."`
	ApproverEmail string `json:"approverEmail,omitempty"`
	ApproverRole  string `json:"approverRole,omitempty"`
}

func (h *Handlers) checkApproved(
	ctx context.Context, caller principal.Principal, in *checkApprovedInput,
) (CheckApprovedBody, error) {
	if caller.OrgID == "" {
		return CheckApprovedBody{}, route.NoOrganization()
	}
	amount, err := parseAmount(in.Amount)
	if err == nil {
		err = errors.Join(requirePlain("tool", in.Tool), requirePlain("X-User-Email", in.UserEmail))
	}
	if err != nil {
		return CheckApprovedBody{}, err
	}
	release, err := h.Enforcement.CheckApproved(ctx, caller, approval.Question{
		Tool: in.Tool, Amount: amount, Email: in.UserEmail,
	})
	if err != nil || release == nil {
		return CheckApprovedBody{}, err
	}
	return CheckApprovedBody{
		Approved:      true,
		ApprovalID:    release.Request.ID,
		DelegationID:  release.Request.ID,
		ApproverEmail: release.ApproverEmail,
		ApproverRole:  release.ApproverRole,
	}, nil
}

// parseAmount reads a number as clients write it: Python sends 5000.0 for 5000.
// Without one it is 0, which clients without an amount send.
func parseAmount(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	amount, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(amount) || math.IsInf(amount, 0) || strings.ContainsAny(text, "xX_pP") {
		return 0, fault.Field("amount", "must be a number")
	}
	return amount, nil
}

// ApprovalNamedBody names a request.
type ApprovalNamedBody struct {
	ID string `json:"approvalId" minLength:"1" maxLength:"100" doc:"The request; also as delegationId." example:"0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30"`
}

type markExecutedInput struct{ Body ApprovalNamedBody }

func (h *Handlers) markExecuted(
	ctx context.Context, caller principal.Principal, in *markExecutedInput,
) (DelegationBody, error) {
	if caller.OrgID == "" {
		return DelegationBody{}, route.NoOrganization()
	}
	request, err := h.Approvals.MarkExecuted(ctx, caller, in.Body.ID)
	return delegationBody(request), err
}

type cancelApprovalInput struct {
	route.OrganizationQuery
	Body ApprovalNamedBody
}

func (h *Handlers) cancel(
	ctx context.Context, caller principal.Principal, in *cancelApprovalInput,
) (DelegationBody, error) {
	request, err := h.Approvals.Cancel(ctx, caller, in.Body.ID)
	return delegationBody(request), err
}

// MyRoleBody is the role of a person in the key's organization.
type MyRoleBody struct {
	Role  string  `json:"role" doc:"owner, admin, approver, member or viewer; agent_user: not a member."`
	Limit float64 `json:"limit" doc:"Always 0: policies set limits."`
}

// agentUser is how published clients call a person who is no member.
const agentUser = "agent_user"

// myRole answers a key only about members of its organization, and about its own owner.
func (h *Handlers) myRole(ctx context.Context, caller principal.Principal, in *UserEmailHeader) (MyRoleBody, error) {
	if caller.OrgID == "" {
		return MyRoleBody{}, route.NoOrganization()
	}
	party, err := h.Organizations.PartyOf(ctx, caller.OrgID, caller.UserID, in.email())
	if err != nil && !fault.Is(err, fault.NotFound) {
		return MyRoleBody{}, err
	}
	out := MyRoleBody{Role: agentUser}
	if party.Member.Role != "" {
		out.Role = string(party.Member.Role)
	}
	return out, nil
}
