package client

import (
	"context"
	"net/http"
	"time"
)

// IdentityProvider is what an organization's people sign in with.
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

// ProviderDomain is a mail domain and the TXT record that proves whose it is.
type ProviderDomain struct {
	Name        string     `json:"name"`
	ProvenAt    *time.Time `json:"provenAt"`
	RecordName  string     `json:"recordName"`
	RecordValue string     `json:"recordValue"`
}

// ProviderSettings set an identity provider up.
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

// IdentityProvider reads that of an organization.
func (c *Client) IdentityProvider(ctx context.Context, orgID string) (IdentityProvider, error) {
	return call[IdentityProvider](ctx, c, http.MethodGet, providerPath(orgID), nil, nil)
}

// SetIdentityProvider sets it up, or changes it.
func (c *Client) SetIdentityProvider(ctx context.Context, orgID string, s ProviderSettings) (IdentityProvider, error) {
	return call[IdentityProvider](ctx, c, http.MethodPut, providerPath(orgID), nil, s)
}

// TestIdentityProvider asks whether it works, and whether its domains are proven.
func (c *Client) TestIdentityProvider(ctx context.Context, orgID string) (IdentityProvider, error) {
	return call[IdentityProvider](ctx, c, http.MethodPost, providerPath(orgID)+"/test", nil, nil)
}

// DeleteIdentityProvider removes it.
func (c *Client) DeleteIdentityProvider(ctx context.Context, orgID string) error {
	return c.Call(ctx, http.MethodDelete, providerPath(orgID), nil, nil, nil)
}

// Identity is who the caller is elsewhere.
type Identity struct {
	ID             string    `json:"id"`
	OrganizationID *string   `json:"organizationId"` // nil: Google
	Issuer         string    `json:"issuer"`
	Email          string    `json:"email"`
	Linked         bool      `json:"linked"`
	CreatedAt      time.Time `json:"createdAt"`
}

// Identities lists those of the caller's account.
func (c *Client) Identities(ctx context.Context) ([]Identity, error) {
	out, err := call[Page[Identity]](ctx, c, http.MethodGet, "/auth/identities", nil, nil)
	return out.Items, err
}

// UnlinkIdentity removes one.
func (c *Client) UnlinkIdentity(ctx context.Context, id string) error {
	return c.Call(ctx, http.MethodDelete, "/auth/identities/"+segment(id), nil, nil, nil)
}
