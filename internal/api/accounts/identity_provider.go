package accounts

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/auth/federation"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/throttle"
)

func (h *Handlers) mountIdentityProvider(r *route.Router) {
	manage := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ManageIdentityProvider) }
	route.Handle(r, manage(route.Get("/organization/{orgId}/identity-provider",
		"The identity provider of the organization")), h.getIdentityProvider)
	route.Handle(r, manage(route.Put("/organization/{orgId}/identity-provider",
		"Set up or change the identity provider")).Records("identity_provider.set").Configures().AsksAgain(),
		h.putIdentityProvider)
	route.Handle(r, manage(route.Delete("/organization/{orgId}/identity-provider",
		"Remove the identity provider and end its sessions")).
		Records("identity_provider.deleted").AsksAgain().Answers(http.StatusNoContent), h.deleteIdentityProvider)
	route.Handle(r, manage(route.Post("/organization/{orgId}/identity-provider/test",
		"Test the connection, and check the records that prove the domains")).
		Throttled(throttle.TestIdentityProvider).Records("identity_provider.tested"), h.testIdentityProvider)
}

// DomainBody is a mail domain and how to prove that it is the organization's.
type DomainBody struct {
	Name        string     `json:"name" example:"example.com"`
	ProvenAt    *time.Time `json:"provenAt" doc:"null: its addresses are not sent to the provider yet."`
	RecordName  string     `json:"recordName" doc:"Of a TXT record." example:"_writ.example.com"`
	RecordValue string     `json:"recordValue" doc:"Its text."`
}

func domainBody(orgID string) func(federation.Domain) DomainBody {
	return func(d federation.Domain) DomainBody {
		return DomainBody{
			Name: d.Name, ProvenAt: d.ProvenAt, RecordName: federation.RecordName(d.Name),
			RecordValue: federation.RecordValue(orgID),
		}
	}
}

// IdentityProviderBody is an organization's provider. Its secret is not shown.
type IdentityProviderBody struct {
	Issuer      string         `json:"issuer"`
	ClientID    string         `json:"clientId"`
	Slug        string         `json:"slug" doc:"Empty: none."`
	Domains     []DomainBody   `json:"domains" nullable:"false"`
	DefaultRole principal.Role `json:"defaultRole" enum:"approver,member,viewer"`
	Enforced    bool           `json:"enforced"`
	TestedAt    *time.Time     `json:"testedAt" doc:"The last successful test with this issuer and client; null: none."`
	CallbackURL string         `json:"callbackUrl" doc:"To register with the provider."`
	SignInURL   string         `json:"signInUrl" doc:"For the organization's people to open."`
	CreatedAt   time.Time      `json:"createdAt"`
	UpdatedAt   time.Time      `json:"updatedAt"`
}

func (h *Handlers) identityProvider(p federation.Provider, err error) (IdentityProviderBody, error) {
	if err != nil {
		return IdentityProviderBody{}, err
	}
	body := IdentityProviderBody{
		Issuer:      p.Issuer,
		ClientID:    p.ClientID,
		Slug:        p.Slug,
		Domains:     route.ItemsOf(p.Domains, domainBody(p.OrgID)).Items,
		DefaultRole: p.DefaultRole,
		Enforced:    p.Enforced,
		TestedAt:    p.TestedAt,
		CallbackURL: h.PublicURL.JoinPath(federation.CallbackPath(p.OrgID)).String(),
		SignInURL:   h.PublicURL.JoinPath("/auth/oidc", cmp.Or(p.Slug, p.OrgID)).String(),
		CreatedAt:   p.CreatedAt,
		UpdatedAt:   p.UpdatedAt,
	}
	return body, nil
}

func (h *Handlers) getIdentityProvider(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (IdentityProviderBody, error) {
	return h.identityProvider(h.Federation.Get(ctx, caller))
}

type putIdentityProviderInput struct {
	route.OrgInput
	Body struct {
		Issuer       string         `json:"issuer" minLength:"1" maxLength:"500" doc:"As the provider spells it." example:"https://login.example.com"`
		ClientID     string         `json:"clientId" minLength:"1" maxLength:"500"`
		ClientSecret string         `json:"clientSecret,omitempty" maxLength:"2000" doc:"Stored sealed, and not shown again. Absent: as before."`
		Slug         string         `json:"slug,omitempty" maxLength:"40" doc:"A short name of the organization for signing in." example:"acme"`
		Domains      []string       `json:"domains" minItems:"1" maxItems:"20" nullable:"false" doc:"The domains of the e-mail addresses that the provider may confirm."`
		DefaultRole  principal.Role `json:"defaultRole,omitempty" default:"member" enum:"approver,member,viewer" doc:"The role of people who sign in for the first time."`
		Enforced     bool           `json:"enforced,omitempty" doc:"Whether all members except owners must sign in with it."`
	}
}

func (h *Handlers) putIdentityProvider(
	ctx context.Context, caller principal.Principal, in *putIdentityProviderInput,
) (IdentityProviderBody, error) {
	return h.identityProvider(h.Federation.Put(ctx, caller, federation.Settings{
		Issuer:      in.Body.Issuer,
		ClientID:    in.Body.ClientID,
		Secret:      secret.NewText(in.Body.ClientSecret),
		Slug:        in.Body.Slug,
		Domains:     in.Body.Domains,
		DefaultRole: in.Body.DefaultRole,
		Enforced:    in.Body.Enforced,
	}))
}

func (h *Handlers) deleteIdentityProvider(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (route.None, error) {
	return route.None{}, h.Federation.Delete(ctx, caller)
}

func (h *Handlers) testIdentityProvider(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (IdentityProviderBody, error) {
	return h.identityProvider(h.Federation.Test(ctx, caller))
}
