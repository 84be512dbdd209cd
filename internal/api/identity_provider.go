package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/auth/federation"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

func (a *API) mountIdentityProvider() {
	route := func(method, path, summary, records string, status int) Route {
		return Route{
			Method: method, Path: "/organization/{orgId}/identity-provider" + path, Tag: "identity provider",
			Summary: summary,
			Mode:    JWT, Action: principal.ManageIdentityProvider, Audit: records, Status: status,
		}
	}
	handle(a, route(http.MethodGet, "", "With what the organization's people sign in", "", 0), a.getIdentityProvider)
	handle(a, route(http.MethodPut, "", "Set the identity provider up, or change it", "identity_provider.set", 0),
		a.putIdentityProvider)
	handle(a,
		route(http.MethodDelete, "", "Remove the identity provider; sessions that came from it end",
			"identity_provider.deleted", http.StatusNoContent), a.deleteIdentityProvider)
	test := route(http.MethodPost, "/test", "Test the connection, and look for the records that prove the domains",
		"identity_provider.tested", 0)
	test.Throttle = throttle.TestIdentityProvider
	handle(a, test, a.testIdentityProvider)
}

// DomainBody is a mail domain and how to prove that it is the organization's.
type DomainBody struct {
	Name        string     `json:"name" example:"example.com"`
	ProvenAt    *time.Time `json:"provenAt" doc:"null: an address of it does not lead to the provider yet."`
	RecordName  string     `json:"recordName" doc:"Of a TXT record." example:"_writ.example.com"`
	RecordValue string     `json:"recordValue" doc:"Its text."`
}

// IdentityProviderBody is an organization's provider. Its secret is not shown.
type IdentityProviderBody struct {
	Issuer      string         `json:"issuer"`
	ClientID    string         `json:"clientId"`
	Slug        string         `json:"slug" doc:"Empty: none."`
	Domains     []DomainBody   `json:"domains" nullable:"false"`
	DefaultRole principal.Role `json:"defaultRole" enum:"approver,member,viewer"`
	Enforced    bool           `json:"enforced"`
	TestedAt    *time.Time     `json:"testedAt" doc:"The last success with this issuer and client; null: none."`
	CallbackURL string         `json:"callbackUrl" doc:"To register with the provider."`
	SignInURL   string         `json:"signInUrl" doc:"For the organization's people to open."`
	CreatedAt   time.Time      `json:"createdAt"`
	UpdatedAt   time.Time      `json:"updatedAt"`
}

type identityProviderOutput struct{ Body IdentityProviderBody }

func (a *API) identityProvider(p federation.Provider, err error) (*identityProviderOutput, error) {
	if err != nil {
		return nil, err
	}
	name := p.OrgID
	if p.Slug != "" {
		name = p.Slug
	}
	body := IdentityProviderBody{
		Issuer:      p.Issuer,
		ClientID:    p.ClientID,
		Slug:        p.Slug,
		Domains:     []DomainBody{},
		DefaultRole: p.DefaultRole,
		Enforced:    p.Enforced,
		TestedAt:    p.TestedAt,
		CallbackURL: a.PublicURL.JoinPath(federation.CallbackPath(p.OrgID)).String(),
		SignInURL:   a.PublicURL.JoinPath("/auth/oidc", name).String(),
		CreatedAt:   p.CreatedAt,
		UpdatedAt:   p.UpdatedAt,
	}
	for _, d := range p.Domains {
		body.Domains = append(body.Domains, DomainBody{
			Name: d.Name, ProvenAt: d.ProvenAt, RecordName: federation.RecordName(d.Name),
			RecordValue: federation.RecordValue(p.OrgID),
		})
	}
	return &identityProviderOutput{body}, nil
}

func (a *API) getIdentityProvider(
	ctx context.Context, caller principal.Principal, _ *OrgInput,
) (*identityProviderOutput, error) {
	return a.identityProvider(a.Federation.Get(ctx, caller))
}

type putIdentityProviderInput struct {
	OrgInput
	Body struct {
		Issuer       string         `json:"issuer" minLength:"1" maxLength:"500" doc:"As the provider spells it." example:"https://login.example.com"`
		ClientID     string         `json:"clientId" minLength:"1" maxLength:"500"`
		ClientSecret string         `json:"clientSecret,omitempty" maxLength:"2000" doc:"Stored sealed, and not shown again. Absent: as before."`
		Slug         string         `json:"slug,omitempty" maxLength:"40" doc:"A word people name the organization by when they sign in." example:"acme"`
		Domains      []string       `json:"domains" minItems:"1" maxItems:"20" nullable:"false" doc:"Of the e-mail addresses the provider may speak of."`
		DefaultRole  principal.Role `json:"defaultRole,omitempty" default:"member" enum:"approver,member,viewer" doc:"Of who signs in for the first time."`
		Enforced     bool           `json:"enforced,omitempty" doc:"Whether members who are no owners must sign in with it."`
	}
}

func (a *API) putIdentityProvider(
	ctx context.Context, caller principal.Principal, in *putIdentityProviderInput,
) (*identityProviderOutput, error) {
	return a.identityProvider(a.Federation.Put(ctx, caller, federation.Settings{
		Issuer: in.Body.Issuer, ClientID: in.Body.ClientID, Secret: secret.NewText(in.Body.ClientSecret),
		Slug:    in.Body.Slug,
		Domains: in.Body.Domains, DefaultRole: in.Body.DefaultRole, Enforced: in.Body.Enforced,
	}))
}

func (a *API) deleteIdentityProvider(ctx context.Context, caller principal.Principal, _ *OrgInput) (*none, error) {
	return nil, a.Federation.Delete(ctx, caller)
}

func (a *API) testIdentityProvider(
	ctx context.Context, caller principal.Principal, _ *OrgInput,
) (*identityProviderOutput, error) {
	return a.identityProvider(a.Federation.Test(ctx, caller))
}
