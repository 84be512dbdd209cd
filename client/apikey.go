package client

import (
	"context"
	"time"
)

// Key is an API key without its secret.
type Key struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	OrganizationID *string    `json:"organizationId"`
	OwnerID        string     `json:"ownerId"`
	Environment    string     `json:"environment"`
	Product        string     `json:"product"`
	Scopes         []string   `json:"scopes"`
	Prefix         string     `json:"prefix"`
	Status         string     `json:"status"`
	CreatedAt      time.Time  `json:"createdAt"`
	ExpiresAt      *time.Time `json:"expiresAt"`
	LastUsedAt     *time.Time `json:"lastUsedAt"`
	RevokedAt      *time.Time `json:"revokedAt"`
	// Stopped: the kill switch has stopped it, alone or with its organization. Told where keys are listed.
	Stopped bool `json:"stopped,omitzero"`
	// Hidden: the key stands for a consent to an OAuth client, and nobody has its secret.
	Hidden bool `json:"hidden,omitzero"`
}

// IssuedKey is a new key with its secret, which is shown only once.
type IssuedKey struct {
	Key
	APIKey string `json:"apiKey"`
}

// NewKey describes a key to be made.
type NewKey struct {
	Name           string     `json:"name,omitempty"`
	OrganizationID string     `json:"organizationId,omitempty"`
	Environment    string     `json:"environment,omitempty"`
	Product        string     `json:"product,omitempty"`
	Scopes         []string   `json:"scopes,omitempty"`
	ExpiresAt      *time.Time `json:"expiresAt,omitempty"`
}

// CreateKey makes an API key.
func (c *Client) CreateKey(ctx context.Context, n NewKey) (IssuedKey, error) {
	return post[IssuedKey](ctx, c, "/api-keys", nil, n)
}

// ProvisionKey makes a key for one product.
func (c *Client) ProvisionKey(ctx context.Context, n NewKey) (IssuedKey, error) {
	return post[IssuedKey](ctx, c, "/api-keys/provision", nil, n)
}

// Keys lists a page of keys: of an organization, or with an empty id the
// caller's own.
func (c *Client) Keys(ctx context.Context, orgID string, l List) (Page[Key], error) {
	out, err := get[struct {
		Page[Key]
		Data []Key `json:"data"`
	}](ctx, c, "/api-keys", l.with("organizationId", orgID))
	out.Items = out.Data
	return out.Page, err
}

// RevokeKey revokes a key.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.do(ctx, "/api-keys/"+segment(id)+"/revoke", nil, struct{}{})
}

// RevokeOwnKey revokes the calling key, which has this id.
func (c *Client) RevokeOwnKey(ctx context.Context, id string) error {
	return c.do(ctx, "/api-keys/"+segment(id)+"/revoke", query("own", true), struct{}{})
}

// RotateKey replaces a key by a new one with the same settings.
func (c *Client) RotateKey(ctx context.Context, id string) (IssuedKey, error) {
	return post[IssuedKey](ctx, c, "/api-keys/"+segment(id)+"/rotate", nil, nil)
}

// CurrentKey is what the calling key is and may do.
type CurrentKey struct {
	ID             string   `json:"id"`
	OrganizationID *string  `json:"organizationId"`
	OwnerID        string   `json:"ownerId"`
	Environment    string   `json:"environment"`
	Product        string   `json:"product"`
	Scopes         []string `json:"scopes"`
	Stopped        bool     `json:"stopped,omitzero"` // by the kill switch, alone or with its organization
}

// CurrentKey reads what the calling key is and may do.
func (c *Client) CurrentKey(ctx context.Context) (*CurrentKey, error) {
	return get[*CurrentKey](ctx, c, "/api-keys/current", nil)
}

// TerminalOrganization is an organization to switch to.
type TerminalOrganization struct {
	Name        string `json:"name"`
	OrgID       string `json:"orgId"`
	UserRole    string `json:"userRole"`
	MemberCount int    `json:"memberCount"`
	Active      bool   `json:"active"`
}

// TerminalOrganizations lists the organizations of the calling key's owner.
func (c *Client) TerminalOrganizations(ctx context.Context) ([]TerminalOrganization, error) {
	out, err := get[struct{ Data []TerminalOrganization }](ctx, c, "/iap/sdk/orgs", nil)
	return out.Data, err
}

// Switched is the key for another organization.
type Switched struct {
	APIKey  string `json:"api_key"`
	OrgID   string `json:"org_id"`
	OrgName string `json:"org_name"`
}

// SwitchOrganization gets a key for another organization, by id or exact name.
func (c *Client) SwitchOrganization(ctx context.Context, org, keyName string) (Switched, error) {
	body := map[string]string{"org": org}
	if keyName != "" {
		body["keyName"] = keyName
	}
	return post[Switched](ctx, c, "/iap/sdk/switch-org", nil, body)
}
