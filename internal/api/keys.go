package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"writ/internal/apikey"
	"writ/internal/principal"
)

func (a *API) mountKeys() {
	const tag = "api keys"
	handle(a, Route{
		Method: http.MethodPost, Path: "/api-keys", Tag: tag, Summary: "Create an API key; it is shown once",
		Mode: JWT, ForLimited: true, Audit: "key.created", Status: http.StatusCreated,
	}, a.createKey)
	handle(a, Route{
		Method: http.MethodGet, Path: "/api-keys", Tag: tag, Summary: "List API keys",
		Mode: Either, ForLimited: true, Scope: principal.CLI,
	}, a.listKeys)
	handle(a, Route{
		Method:     http.MethodPost,
		Path:       "/api-keys/provision",
		Tag:        tag,
		Summary:    "Create a key for one product",
		Mode:       Either,
		ForLimited: true,
		Scope:      principal.CLI,
		Audit:      "key.provisioned",
		Status:     http.StatusCreated,
	}, a.provisionKey)
	handle(a, Route{
		Method: http.MethodPost, Path: "/api-keys/{id}/revoke", Tag: tag, Summary: "Revoke an API key",
		Mode: Either, ForLimited: true, Scope: principal.CLI, Audit: "key.revoked",
	}, a.revokeKey)
	handle(a, Route{
		Method: http.MethodPost, Path: "/api-keys/{id}/rotate", Tag: tag,
		Summary: "Replace an API key by a new one with the same settings",
		Mode:    JWT, ForLimited: true, Audit: "key.rotated", Status: http.StatusCreated,
	}, a.rotateKey)
}

// KeyBody is an API key without its secret.
type KeyBody struct {
	ID             string            `json:"id" format:"uuid"`
	Name           string            `json:"name"`
	OrganizationID *string           `json:"organizationId" doc:"null: bound to no organization."`
	OwnerID        string            `json:"ownerId" format:"uuid"`
	Environment    string            `json:"environment" enum:"sandbox,production"`
	Product        string            `json:"product" doc:"Empty: any."`
	Scopes         []principal.Scope `json:"scopes" nullable:"false"`
	Prefix         string            `json:"prefix" doc:"The key's first characters." example:"ak_test_1a2b3c4d"`
	Status         string            `json:"status" enum:"active,expired,revoked"`
	CreatedAt      time.Time         `json:"createdAt"`
	ExpiresAt      *time.Time        `json:"expiresAt"`
	LastUsedAt     *time.Time        `json:"lastUsedAt" doc:"Up to some seconds behind."`
	RevokedAt      *time.Time        `json:"revokedAt"`
}

func (a *API) keyBody(k apikey.Key) KeyBody {
	body := KeyBody{
		ID:          k.ID,
		Name:        k.Name,
		OwnerID:     k.OwnerID,
		Environment: string(k.Environment),
		Product:     k.Product,
		Scopes:      k.Scopes,
		Prefix:      k.Prefix,
		Status:      k.Status(a.Database.Now()),
		CreatedAt:   k.CreatedAt,
		ExpiresAt:   k.ExpiresAt,
		LastUsedAt:  k.LastUsedAt,
		RevokedAt:   k.RevokedAt,
	}
	if k.OrgID != "" {
		body.OrganizationID = &k.OrgID
	}
	return body
}

// IssuedKeyBody is a new API key, with the one sight of its secret.
type IssuedKeyBody struct {
	KeyBody
	APIKey string `json:"apiKey" doc:"The key itself. It is not shown again."`
}

type issuedKeyOutput struct{ Body IssuedKeyBody }

func (a *API) issued(k apikey.Issued, err error) (*issuedKeyOutput, error) {
	if err != nil {
		return nil, err
	}
	return &issuedKeyOutput{IssuedKeyBody{KeyBody: a.keyBody(k.Key), APIKey: k.Secret.Reveal()}}, nil
}

type createKeyInput struct {
	Body struct {
		Name           string            `json:"name" minLength:"1" maxLength:"100" example:"checkout agent"`
		OrganizationID string            `json:"organizationId,omitempty" doc:"Absent: the key is bound to no organization."`
		Environment    string            `json:"environment,omitempty" enum:"sandbox,production" default:"sandbox"`
		Product        string            `json:"product,omitempty" maxLength:"100" doc:"Overrides the product the client names."`
		Scopes         []principal.Scope `json:"scopes,omitempty" maxItems:"20" doc:"ingest, enforce, audit, delegation.request (these four by default), policy.draft."`
		ExpiresAt      *time.Time        `json:"expiresAt,omitempty" doc:"Absent: never."`
	}
}

func (a *API) createKey(ctx context.Context, caller principal.Principal, in *createKeyInput) (*issuedKeyOutput, error) {
	orgID := cmp.Or(in.Body.OrganizationID, caller.LimitedTo)
	caller, err := a.inOptionalOrganization(ctx, caller, orgID)
	if err != nil {
		return nil, err
	}
	return a.issued(a.Keys.Create(ctx, caller, apikey.NewKey{
		Name: in.Body.Name, OrgID: orgID, Environment: apikey.Environment(in.Body.Environment),
		Product: in.Body.Product, Scopes: in.Body.Scopes, ExpiresAt: in.Body.ExpiresAt,
	}))
}

type provisionKeyInput struct {
	Body struct {
		Product        string     `json:"product" minLength:"1" maxLength:"100" example:"gemini-cli"`
		Name           string     `json:"name,omitempty" maxLength:"100" doc:"Absent: the product's name."`
		OrganizationID string     `json:"organizationId,omitempty" doc:"Absent: the calling key's own."`
		Environment    string     `json:"environment,omitempty" enum:"sandbox,production" default:"sandbox"`
		ExpiresAt      *time.Time `json:"expiresAt,omitempty"`
	}
}

func (a *API) provisionKey(
	ctx context.Context, caller principal.Principal, in *provisionKeyInput,
) (*issuedKeyOutput, error) {
	orgID := cmp.Or(in.Body.OrganizationID, caller.OrgID, caller.LimitedTo)
	caller, err := a.inOptionalOrganization(ctx, caller, orgID)
	if err != nil {
		return nil, err
	}
	name := in.Body.Name
	if name == "" {
		name = in.Body.Product
	}
	return a.issued(a.Keys.Provision(ctx, caller, apikey.NewKey{
		Name: name, OrgID: orgID, Environment: apikey.Environment(in.Body.Environment),
		Product: in.Body.Product, ExpiresAt: in.Body.ExpiresAt,
	}))
}

type listKeysInput struct {
	PageInput
	OrganizationID string `query:"organizationId" doc:"Absent: the calling key's own, or every key of the calling person."`
}

// keysOutput is the list under the name published command lines read.
type keysOutput struct {
	Body struct {
		Data       []KeyBody `json:"data" nullable:"false"`
		NextCursor string    `json:"nextCursor,omitempty"`
		HasMore    bool      `json:"hasMore"`
	}
}

func (a *API) listKeys(ctx context.Context, caller principal.Principal, in *listKeysInput) (*keysOutput, error) {
	orgID := cmp.Or(in.OrganizationID, caller.OrgID, caller.LimitedTo)
	caller, err := a.inOptionalOrganization(ctx, caller, orgID)
	if err != nil {
		return nil, err
	}
	keys, err := a.Keys.List(ctx, caller, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	out, bodies := &keysOutput{}, mapPage(keys, a.keyBody)
	out.Body.Data, out.Body.NextCursor, out.Body.HasMore = bodies.Items, bodies.NextCursor, bodies.HasMore
	return out, nil
}

// keyCaller is the caller in the organization a key is bound to. Someone who
// is no member of it cannot tell the key from one that does not exist.
func (a *API) keyCaller(ctx context.Context, caller principal.Principal, keyID string) (principal.Principal, error) {
	orgID, err := a.Keys.OrgOf(ctx, keyID)
	if err != nil {
		return principal.Principal{}, err
	}
	inOrg, err := a.inOptionalOrganization(ctx, caller, orgID)
	return inOrg, hideForbidden(err)
}

type revokeOutput struct {
	Body struct {
		ID     string `json:"id" format:"uuid"`
		Status string `json:"status" example:"revoked"`
	}
}

type revokeInput struct {
	IDInput
	Own bool `query:"own" doc:"The key to revoke is the one of this call, which is refused otherwise."`
}

func (a *API) revokeKey(ctx context.Context, caller principal.Principal, in *revokeInput) (*revokeOutput, error) {
	caller, err := a.keyCaller(ctx, caller, in.ID)
	if err != nil {
		return nil, err
	}
	revoke := a.Keys.Revoke
	if in.Own {
		revoke = a.Keys.RevokeOwn
	}
	if err := revoke(ctx, caller, in.ID); err != nil {
		return nil, err
	}
	out := &revokeOutput{}
	out.Body.ID, out.Body.Status = in.ID, "revoked"
	return out, nil
}

func (a *API) rotateKey(ctx context.Context, caller principal.Principal, in *IDInput) (*issuedKeyOutput, error) {
	caller, err := a.keyCaller(ctx, caller, in.ID)
	if err != nil {
		return nil, err
	}
	return a.issued(a.Keys.Rotate(ctx, caller, in.ID))
}
