package client

import (
	"context"
	"time"
)

// IdentityProvider is where an organization's people have their accounts.
type IdentityProvider struct {
	Issuer      string           `json:"issuer"`
	ClientID    string           `json:"clientId"`
	Slug        string           `json:"slug"`
	Domains     []ProviderDomain `json:"domains"`
	DefaultRole string           `json:"defaultRole"`
	Enforced    bool             `json:"enforced"`
	TestedAt    *time.Time       `json:"testedAt"`
	CallbackURL string           `json:"callbackUrl"`
	SignInURL   string           `json:"signInUrl"`
	CreatedAt   time.Time        `json:"createdAt"`
	UpdatedAt   time.Time        `json:"updatedAt"`
}

// ProviderDomain is a mail domain and the TXT record that proves its owner.
type ProviderDomain struct {
	Name        string     `json:"name"`
	ProvenAt    *time.Time `json:"provenAt"`
	RecordName  string     `json:"recordName"`
	RecordValue string     `json:"recordValue"`
}

// ProviderSettings set up an identity provider.
type ProviderSettings struct {
	Issuer       string   `json:"issuer"`
	ClientID     string   `json:"clientId"`
	ClientSecret string   `json:"clientSecret,omitempty"` // empty: as before
	Slug         string   `json:"slug,omitempty"`
	Domains      []string `json:"domains"`
	DefaultRole  string   `json:"defaultRole,omitempty"`
	Enforced     bool     `json:"enforced,omitempty"`
}

func providerPath(orgID string) string { return organizationPath(orgID) + "/identity-provider" }

// IdentityProvider reads the identity provider of an organization.
func (c *Client) IdentityProvider(ctx context.Context, orgID string) (IdentityProvider, error) {
	return get[IdentityProvider](ctx, c, providerPath(orgID), nil)
}

// SetIdentityProvider sets up or changes the identity provider of an organization.
func (c *Client) SetIdentityProvider(ctx context.Context, orgID string, s ProviderSettings) (IdentityProvider, error) {
	return put[IdentityProvider](ctx, c, providerPath(orgID), nil, s)
}

// TestIdentityProvider checks that the provider works and its domains are proven.
func (c *Client) TestIdentityProvider(ctx context.Context, orgID string) (IdentityProvider, error) {
	return post[IdentityProvider](ctx, c, providerPath(orgID)+"/test", nil, nil)
}

// DeleteIdentityProvider removes the identity provider of an organization.
func (c *Client) DeleteIdentityProvider(ctx context.Context, orgID string) error {
	return c.delete(ctx, providerPath(orgID), nil)
}

// Identity is an account of the caller elsewhere.
type Identity struct {
	ID             string    `json:"id"`
	OrganizationID *string   `json:"organizationId"` // nil: Google
	Issuer         string    `json:"issuer"`
	Email          string    `json:"email"`
	Linked         bool      `json:"linked"`
	CreatedAt      time.Time `json:"createdAt"`
}

// Identities lists the identities of the caller.
func (c *Client) Identities(ctx context.Context) ([]Identity, error) {
	return list[Identity](ctx, c, "/auth/identities", nil)
}

// UnlinkIdentity removes an identity.
func (c *Client) UnlinkIdentity(ctx context.Context, id string) error {
	return c.delete(ctx, "/auth/identities/"+segment(id), nil)
}
