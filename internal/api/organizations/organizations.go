// Package organizations serves organizations: their members and invitations, the API keys of their agents, and what a
// terminal does with the key of its sign-in.
package organizations

import (
	"context"
	"net/http"
	"time"

	"writ/internal/agent"
	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/auth"
	"writ/internal/organization"
	"writ/internal/principal"
)

// Handlers serve organizations, members and keys.
type Handlers struct {
	Gate          *admission.Gate
	Accounts      *auth.Service
	Organizations *organization.Service
	Keys          *apikey.Service
	Agents        *agent.Service
	Now           func() time.Time
	// FillDemo fills an organization with demo data, with the access token of its owner; nil: this server makes none.
	FillDemo func(ctx context.Context, accessToken, orgID string) error
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	h.mountOrganizations(r.Tagged("organization"))
	h.mountDemo(r.Tagged("organization"))
	h.mountMembers(r.Tagged("members"))
	h.mountRoles(r.Tagged("members"))
	h.mountKeys(r.Tagged("api keys"))
	h.mountTerminal(r.Tagged("terminal"))
	route.Handle(r.Tagged("api keys"), route.Get("/api-keys/current", "What the calling key is and may do").
		For(route.Key).Scoped(route.AnyScope).StoppedToo(), h.currentKey)
	route.Handle(r.Tagged("api keys"), route.Get("/api-keys/device-history-sync",
		"Whether somebody asked for the history of a device: never").
		For(route.Key).Scoped(route.AnyScope), historySync)
}

func (h *Handlers) mountOrganizations(r *route.Router) {
	route.Handle(r, route.Post("/organization", "Create an organization and become its owner").
		For(route.Person).Records("organization.created").Configures().Answers(http.StatusCreated), h.create)
	route.Handle(r, route.Get("/organization", "The caller's organizations").
		For(route.Person).LimitedToo(), h.list)
	route.Handle(r, route.Get("/organization/{orgId}", "One organization").
		For(route.Person).Needs(principal.ReadOrganization), h.get)
	route.Handle(r, route.Patch("/organization/{orgId}", "Rename an organization").
		For(route.Person).Needs(principal.UpdateOrganization).Records("organization.renamed").Configures(), h.rename)
	route.Handle(r, route.Put("/organization/{orgId}/second-factor",
		"Say whether members act in the organization only after they proved a second factor").
		For(route.Person).Needs(principal.UpdateOrganization).Records("organization.second_factor_changed").
		Configures().AsksAgain(), h.requireSecondFactor)
	route.Handle(r, route.Delete("/organization/{orgId}", "Close an organization; its audit log is kept").
		For(route.Person).Needs(principal.CloseOrganization).Records("organization.closed").
		AsksAgain().Answers(http.StatusNoContent), h.close)
}

// OrganizationBody is an organization as the caller sees it.
type OrganizationBody struct {
	ID          string         `json:"id" format:"uuid"`
	Name        string         `json:"name"`
	Role        principal.Role `json:"role" doc:"The caller's role." enum:"owner,admin,approver,member,viewer"`
	MemberCount int            `json:"memberCount"`
	CreatedAt   time.Time      `json:"createdAt"`
	Demo        bool           `json:"demo" doc:"Whether all of it is made up."`

	RequireSecondFactor bool `json:"requireSecondFactor" doc:"Whether members act in it only after they proved a second factor."`

	Rights []principal.Action `json:"rights" nullable:"false" doc:"What the role allows; the routes name what they need."`
}

func organizationBody(m organization.Membership) OrganizationBody {
	return OrganizationBody{
		ID:          m.ID,
		Name:        m.Name,
		Role:        m.Role,
		MemberCount: m.MemberCount,
		CreatedAt:   m.CreatedAt,
		Demo:        m.IsDemo(),
		Rights:      m.Role.Rights(),

		RequireSecondFactor: m.RequireSecondFactor,
	}
}

// Bodies are organizations as their member sees them.
func Bodies(memberships []organization.Membership) []OrganizationBody {
	return route.ItemsOf(memberships, organizationBody).Items
}

type nameBody struct {
	Name string `json:"name" minLength:"1" maxLength:"100" example:"Payments"`
}

type createOrganizationInput struct{ Body nameBody }

func (h *Handlers) create(
	ctx context.Context, caller principal.Principal, in *createOrganizationInput,
) (OrganizationBody, error) {
	created, err := h.Organizations.Create(ctx, caller, in.Body.Name)
	return organizationBody(organization.Membership{
		Organization: created, Role: principal.Owner, MemberCount: 1,
	}), err
}

func (h *Handlers) list(
	ctx context.Context, caller principal.Principal, _ *route.None,
) (route.Items[OrganizationBody], error) {
	mine, err := h.Gate.Mine(ctx, caller)
	return route.ItemsOf(mine, organizationBody), err
}

func (h *Handlers) get(ctx context.Context, caller principal.Principal, _ *route.OrgInput) (OrganizationBody, error) {
	membership, err := h.Organizations.Get(ctx, caller)
	return organizationBody(membership), err
}

type updateOrganizationInput struct {
	route.OrgInput
	Body nameBody
}

func (h *Handlers) rename(
	ctx context.Context, caller principal.Principal, in *updateOrganizationInput,
) (OrganizationBody, error) {
	membership, err := h.Organizations.Rename(ctx, caller, in.Body.Name)
	return organizationBody(membership), err
}

type requireSecondFactorInput struct {
	route.OrgInput
	Body struct {
		Required bool `json:"required"`
	}
}

func (h *Handlers) requireSecondFactor(
	ctx context.Context, caller principal.Principal, in *requireSecondFactorInput,
) (OrganizationBody, error) {
	membership, err := h.Organizations.RequireSecondFactor(ctx, caller, in.Body.Required)
	return organizationBody(membership), err
}

func (h *Handlers) close(ctx context.Context, caller principal.Principal, _ *route.OrgInput) (route.None, error) {
	return route.None{}, h.Organizations.Close(ctx, caller)
}
