// Package accessrequests serves requests for access: anyone asks, and the operators of the installation answer.
package accessrequests

import (
	"context"
	"errors"
	"net/http"
	"time"

	"writ/internal/accessrequest"
	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// Handlers serve requests for access.
type Handlers struct {
	Gate          *admission.Gate
	Requests      *accessrequest.Service
	Organizations *organization.Service
}

// maxBody is more than a request with the longest texts takes.
const maxBody = 256 << 10

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("access requests")
	route.Handle(r, route.Post("/access-requests", "Ask for access; the answer is the same for every address").
		For(route.Public).Throttled(throttle.AskAccess).Records("access.requested").Configures().UpTo(maxBody).
		Answers(http.StatusAccepted), h.ask)
	route.Handle(r, route.Get("/access-requests", "The requests for access, oldest first").
		For(route.Person).ForOperators(), h.list)
	route.Handle(r, route.Post("/access-requests/{id}/approve",
		"Approve a request: an invitation, or a link to register").
		For(route.Person).ForOperators().Records("access.approved").Configures().MayAskForPayment().
		UpTo(maxBody), h.approve)
	route.Handle(r, route.Post("/access-requests/{id}/reject", "Reject a request, with a reason that is mailed").
		For(route.Person).ForOperators().Records("access.rejected").Configures().UpTo(maxBody), h.reject)
}

type askAccessInput struct {
	Body struct {
		Email   string `json:"email" maxLength:"254" example:"dev@example.org"`
		Name    string `json:"name,omitempty" maxLength:"100" example:"Ada Lovelace"`
		Company string `json:"company,omitempty" maxLength:"100" example:"Analytical Engines"`
		Message string `json:"message,omitempty" maxLength:"2000" doc:"What the person wants it for." example:"We run three agents and want approvals for payments."`
	}
}

func (in *askAccessInput) Account() string { return in.Body.Email }

// AccessReceivedBody answers every request alike.
type AccessReceivedBody struct {
	Status string `json:"status" doc:"Always received: whether the address is known is nobody else's business." example:"received"`
}

func (h *Handlers) ask(ctx context.Context, _ principal.Principal, in *askAccessInput) (AccessReceivedBody, error) {
	err := h.Requests.Ask(ctx, accessrequest.New{
		Email: in.Body.Email, Name: in.Body.Name, Company: in.Body.Company, Message: in.Body.Message,
	})
	return AccessReceivedBody{"received"}, err
}

// AccessRequestBody is a request for access.
type AccessRequestBody struct {
	ID             string               `json:"id" format:"uuid"`
	Email          string               `json:"email" doc:"As it was sent; nothing proves that it is the person's own." example:"dev@example.org"`
	Name           string               `json:"name" example:"Ada Lovelace"`
	Company        string               `json:"company" example:"Analytical Engines"`
	Message        string               `json:"message"`
	Status         accessrequest.Status `json:"status" enum:"pending,approved,rejected"`
	CreatedAt      time.Time            `json:"createdAt"`
	DecidedAt      *time.Time           `json:"decidedAt" doc:"null: it waits."`
	DecidedBy      *string              `json:"decidedBy" doc:"The operator who answered; null: it waits."`
	Reason         *string              `json:"reason" doc:"Of a rejection."`
	OrganizationID *string              `json:"organizationId" doc:"The organization that it became an invitation to."`
	Role           *string              `json:"role" doc:"Of that invitation."`
}

func accessRequestBody(r accessrequest.Request) AccessRequestBody {
	return AccessRequestBody{
		ID:             r.ID,
		Email:          r.Email,
		Name:           r.Name,
		Company:        r.Company,
		Message:        r.Message,
		Status:         r.Status,
		CreatedAt:      r.CreatedAt,
		DecidedAt:      r.DecidedAt,
		DecidedBy:      route.OrNull(r.DecidedBy),
		Reason:         route.OrNull(r.Reason),
		OrganizationID: route.OrNull(r.OrgID),
		Role:           route.OrNull(string(r.Role)),
	}
}

type listAccessInput struct {
	route.PageInput
	Status string `query:"status" enum:"pending,approved,rejected" doc:"Only those with this status."`
}

func (h *Handlers) list(
	ctx context.Context, caller principal.Principal, in *listAccessInput,
) (page.Page[AccessRequestBody], error) {
	found, err := h.Requests.List(ctx, caller, accessrequest.Status(in.Status), in.Cursor, in.Limit)
	return route.MapPage(found, accessRequestBody), err
}

type approveAccessInput struct {
	route.IDInput
	Body struct {
		OrganizationID string `json:"organizationId,omitempty" maxLength:"100" doc:"Invite the person to this organization, in which the caller may invite. Absent: the person gets a link to register." format:"uuid"`
		Role           string `json:"role,omitempty" enum:"owner,admin,approver,member,viewer" doc:"In that organization; member unless set." example:"member"`
	}
}

func (h *Handlers) approve(
	ctx context.Context, caller principal.Principal, in *approveAccessInput,
) (AccessRequestBody, error) {
	if in.Body.OrganizationID == "" {
		if in.Body.Role != "" {
			return AccessRequestBody{}, fault.Field("role", "is of an organization: set organizationId too")
		}
		approved, err := h.Requests.Approve(ctx, caller, in.ID)
		return accessRequestBody(approved), err
	}
	approved, err := h.invite(ctx, caller, in)
	return accessRequestBody(approved), err
}

// invite makes the invitation first, with the rights that the operator has in the organization: without an invitation
// nothing was approved. If the request was answered meanwhile, the invitation is withdrawn.
func (h *Handlers) invite(
	ctx context.Context, caller principal.Principal, in *approveAccessInput,
) (accessrequest.Request, error) {
	to := accessrequest.Invitation{OrgID: in.Body.OrganizationID, Role: principal.Member}
	if in.Body.Role != "" {
		to.Role = principal.Role(in.Body.Role)
	}
	inviter, err := h.Gate.InOrganization(ctx, caller, to.OrgID)
	if err != nil {
		return accessrequest.Request{}, err
	}
	if err := inviter.Require(to.Role.ManageRole()); err != nil {
		return accessrequest.Request{}, err
	}
	request, err := h.Requests.Waiting(ctx, caller, in.ID)
	if err != nil {
		return accessrequest.Request{}, err
	}
	invite, err := h.Organizations.Invite(ctx, inviter, request.Email, to.Role)
	if err != nil {
		return accessrequest.Request{}, err
	}
	approved, err := h.Requests.Invited(ctx, caller, in.ID, to)
	if err != nil {
		err = errors.Join(err, h.Organizations.Withdraw(context.WithoutCancel(ctx), inviter, invite.ID))
	}
	return approved, err
}

type rejectAccessInput struct {
	route.IDInput
	Body struct {
		Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Mailed to the person." example:"We take on teams from January."`
	}
}

func (h *Handlers) reject(
	ctx context.Context, caller principal.Principal, in *rejectAccessInput,
) (AccessRequestBody, error) {
	rejected, err := h.Requests.Reject(ctx, caller, in.ID, in.Body.Reason)
	return accessRequestBody(rejected), err
}
