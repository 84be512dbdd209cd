package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/organization"
	"writ/internal/principal"
)

func (a *API) mountOrganizations() {
	const tag = "organization"
	handle(a, Route{
		Method: http.MethodPost, Path: "/organization", Tag: tag,
		Summary: "Create an organization and become its owner",
		Mode:    JWT, Audit: "organization.created", Status: http.StatusCreated,
	}, a.createOrganization)
	handle(a, Route{
		Method:     http.MethodGet,
		Path:       "/organization",
		Tag:        tag,
		Summary:    "The caller's organizations",
		Mode:       JWT,
		ForLimited: true,
	}, a.listOrganizations)
	handle(a, Route{
		Method: http.MethodGet, Path: "/organization/{orgId}", Tag: tag, Summary: "One organization",
		Mode: JWT, Action: principal.ReadOrganization,
	}, a.getOrganization)
	handle(a, Route{
		Method: http.MethodPatch, Path: "/organization/{orgId}", Tag: tag, Summary: "Rename an organization",
		Mode: JWT, Action: principal.UpdateOrganization, Audit: "organization.renamed",
	}, a.updateOrganization)
	handle(a, Route{
		Method: http.MethodDelete, Path: "/organization/{orgId}", Tag: tag,
		Summary: "Close an organization; its audit log is kept",
		Mode:    JWT, Action: principal.CloseOrganization, Audit: "organization.closed", Status: http.StatusNoContent,
	}, a.closeOrganization)
}

// OrganizationBody is an organization as the caller sees it.
type OrganizationBody struct {
	ID          string         `json:"id" format:"uuid"`
	Name        string         `json:"name"`
	Role        principal.Role `json:"role" doc:"The caller's role." enum:"owner,admin,approver,member,viewer"`
	MemberCount int            `json:"memberCount"`
	CreatedAt   time.Time      `json:"createdAt"`
}

func organizationBody(m organization.Membership) OrganizationBody {
	return OrganizationBody{
		ID:          m.ID,
		Name:        m.Name,
		Role:        m.Role,
		MemberCount: m.MemberCount,
		CreatedAt:   m.CreatedAt,
	}
}

func organizationBodies(memberships []organization.Membership) []OrganizationBody {
	bodies := make([]OrganizationBody, len(memberships))
	for i, m := range memberships {
		bodies[i] = organizationBody(m)
	}
	return bodies
}

type organizationOutput struct{ Body OrganizationBody }

type nameBody struct {
	Name string `json:"name" minLength:"1" maxLength:"100" example:"Payments"`
}

type createOrganizationInput struct{ Body nameBody }

func (a *API) createOrganization(
	ctx context.Context, caller principal.Principal, in *createOrganizationInput,
) (*organizationOutput, error) {
	created, err := a.Organizations.Create(ctx, caller, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return &organizationOutput{
		organizationBody(organization.Membership{Organization: created, Role: principal.Owner, MemberCount: 1}),
	}, nil
}

type organizationsOutput struct {
	Body struct {
		Items []OrganizationBody `json:"items" nullable:"false"`
	}
}

func (a *API) listOrganizations(
	ctx context.Context, caller principal.Principal, _ *none,
) (*organizationsOutput, error) {
	mine, err := a.mine(ctx, caller)
	if err != nil {
		return nil, err
	}
	out := &organizationsOutput{}
	out.Body.Items = organizationBodies(mine)
	return out, nil
}

// OrgInput is the path of an organization-scoped route. The guard has read it.
// Inputs that others embed are exported: huma reads no other.
type OrgInput struct {
	OrgID string `path:"orgId" doc:"The organization."`
}

func (a *API) getOrganization(
	ctx context.Context, caller principal.Principal, _ *OrgInput,
) (*organizationOutput, error) {
	membership, err := a.Organizations.Get(ctx, caller)
	if err != nil {
		return nil, err
	}
	return &organizationOutput{organizationBody(membership)}, nil
}

type updateOrganizationInput struct {
	OrgInput
	Body nameBody
}

func (a *API) updateOrganization(
	ctx context.Context, caller principal.Principal, in *updateOrganizationInput,
) (*organizationOutput, error) {
	membership, err := a.Organizations.Rename(ctx, caller, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return &organizationOutput{organizationBody(membership)}, nil
}

func (a *API) closeOrganization(ctx context.Context, caller principal.Principal, _ *OrgInput) (*none, error) {
	return nil, a.Organizations.Close(ctx, caller)
}
