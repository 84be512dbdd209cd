package organizations

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/throttle"
)

func (h *Handlers) mountKeys(r *route.Router) {
	route.Handle(r, route.Post("/api-keys", "Create an API key; it is shown once").
		For(route.Person).LimitedToo().Records("key.created").Configures().AsksAgain().
		Answers(http.StatusCreated), h.createKey)
	route.Handle(r, route.Get("/api-keys", "List API keys").
		For(route.PersonOrKey).LimitedToo().Scoped(principal.CLI), h.listKeys)
	route.Handle(r, route.Post("/api-keys/provision", "Create a key for one product").
		For(route.PersonOrKey).LimitedToo().Scoped(principal.CLI).
		Throttled(throttle.MakeKey).Records("key.provisioned").AsksAgain().Answers(http.StatusCreated), h.provisionKey)
	route.Handle(r, route.Post("/api-keys/{id}/revoke", "Revoke an API key").
		For(route.PersonOrKey).LimitedToo().Scoped(principal.CLI).Records("key.revoked"), h.revokeKey)
	route.Handle(r, route.Post("/api-keys/{id}/rotate", "Replace an API key by a new one with the same settings").
		For(route.Person).LimitedToo().Records("key.rotated").AsksAgain().Answers(http.StatusCreated), h.rotateKey)
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
	Stopped        bool              `json:"stopped,omitempty,omitzero" doc:"The kill switch has stopped it, alone or with its organization: nothing is allowed until a person revives it. Told where keys are listed."`
	Hidden         bool              `json:"hidden,omitempty,omitzero" doc:"It stands for a consent to an OAuth client: nobody has its secret. Revoking it ends the consent."`
}

func (h *Handlers) keyBody(k apikey.Key) KeyBody {
	body := KeyBody{
		ID:          k.ID,
		Name:        k.Name,
		OwnerID:     k.OwnerID,
		Environment: string(k.Environment),
		Product:     k.Product,
		Scopes:      k.Scopes,
		Prefix:      k.Prefix,
		Status:      k.Status(h.Now()),
		CreatedAt:   k.CreatedAt,
		ExpiresAt:   k.ExpiresAt,
		LastUsedAt:  k.LastUsedAt,
		RevokedAt:   k.RevokedAt,
		Hidden:      k.Hidden,
	}
	if k.OrgID != "" {
		body.OrganizationID = &k.OrgID
	}
	return body
}

// IssuedKeyBody is a new API key with its secret, which is shown only once.
type IssuedKeyBody struct {
	KeyBody
	APIKey string `json:"apiKey" doc:"The key itself. It is not shown again."`
}

func (h *Handlers) issued(k apikey.Issued, err error) (IssuedKeyBody, error) {
	return IssuedKeyBody{KeyBody: h.keyBody(k.Key), APIKey: k.Secret.Reveal()}, err
}

type createKeyInput struct {
	Body struct {
		Name           string            `json:"name" minLength:"1" maxLength:"100" example:"checkout agent"`
		OrganizationID string            `json:"organizationId,omitempty" doc:"Absent: the key is bound to no organization."`
		Environment    string            `json:"environment,omitempty" enum:"sandbox,production" default:"sandbox"`
		Product        string            `json:"product,omitempty" maxLength:"100" doc:"Overrides the product the client names."`
		Scopes         []principal.Scope `json:"scopes,omitempty" maxItems:"20" doc:"ingest, enforce, audit, delegation.request (these four by default), profile.propose, policy.draft (which includes it)."`
		ExpiresAt      *time.Time        `json:"expiresAt,omitempty" doc:"Absent: never."`
	}
}

func (h *Handlers) createKey(
	ctx context.Context, caller principal.Principal, in *createKeyInput,
) (IssuedKeyBody, error) {
	orgID := cmp.Or(in.Body.OrganizationID, caller.LimitedTo)
	caller, err := h.Gate.InOptional(ctx, caller, orgID)
	if err != nil {
		return IssuedKeyBody{}, err
	}
	return h.issued(h.Keys.Create(ctx, caller, apikey.NewKey{
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

func (h *Handlers) provisionKey(
	ctx context.Context, caller principal.Principal, in *provisionKeyInput,
) (IssuedKeyBody, error) {
	orgID := cmp.Or(in.Body.OrganizationID, caller.OrgID, caller.LimitedTo)
	caller, err := h.Gate.InOptional(ctx, caller, orgID)
	if err != nil {
		return IssuedKeyBody{}, err
	}
	return h.issued(h.Keys.Provision(ctx, caller, apikey.NewKey{
		Name: cmp.Or(in.Body.Name, in.Body.Product), OrgID: orgID, Environment: apikey.Environment(in.Body.Environment),
		Product: in.Body.Product, ExpiresAt: in.Body.ExpiresAt,
	}))
}

type listKeysInput struct {
	route.PageInput
	OrganizationID string `query:"organizationId" doc:"Absent: the calling key's own, or every key of the calling person."`
	ID             string `query:"id" maxLength:"200" doc:"Only the key with this id, if the caller may see it there. Without an organization: if it is bound to none."`
}

// KeysBody is a list of keys, under the name published command lines read.
type KeysBody struct {
	Data       []KeyBody `json:"data" nullable:"false"`
	NextCursor string    `json:"nextCursor,omitempty"`
	HasMore    bool      `json:"hasMore"`
}

func (h *Handlers) listKeys(ctx context.Context, caller principal.Principal, in *listKeysInput) (KeysBody, error) {
	orgID := cmp.Or(in.OrganizationID, caller.OrgID, caller.LimitedTo)
	caller, err := h.Gate.InOptional(ctx, caller, orgID)
	if err != nil {
		return KeysBody{}, err
	}
	keys, err := h.readKeys(ctx, caller, in)
	if err != nil {
		return KeysBody{}, err
	}
	shown := route.MapPage(keys, h.keyBody)
	return KeysBody{shown.Items, shown.NextCursor, shown.HasMore}, h.markStopped(ctx, shown.Items)
}

func (h *Handlers) readKeys(
	ctx context.Context, caller principal.Principal, in *listKeysInput,
) (page.Page[apikey.Key], error) {
	if in.ID == "" {
		return h.Keys.List(ctx, caller, in.Cursor, in.Limit)
	}
	key, err := h.Keys.Get(ctx, caller, in.ID)
	if fault.Is(err, fault.NotFound) {
		return page.Page[apikey.Key]{}, nil
	}
	return page.Page[apikey.Key]{Items: []apikey.Key{key}}, err
}

// markStopped tells of listed keys which ones the kill switch has stopped: they are valid, and nothing is allowed to
// them. A person without an organization sees keys of several.
func (h *Handlers) markStopped(ctx context.Context, listed []KeyBody) error {
	of := map[string][]string{}
	for _, k := range listed {
		if k.OrganizationID != nil {
			of[*k.OrganizationID] = append(of[*k.OrganizationID], k.ID)
		}
	}
	for orgID, ids := range of {
		stopped, err := h.Agents.StoppedKeys(ctx, orgID, ids)
		if err != nil {
			return err
		}
		for i := range listed {
			listed[i].Stopped = listed[i].Stopped || slices.Contains(stopped, listed[i].ID)
		}
	}
	return nil
}

// keyCaller is the caller in the organization a key is bound to. To people who are not members of it the key does not
// exist.
func (h *Handlers) keyCaller(
	ctx context.Context, caller principal.Principal, keyID string,
) (principal.Principal, error) {
	orgID, err := h.Keys.OrgOf(ctx, keyID)
	if err != nil {
		return principal.Principal{}, err
	}
	inOrg, err := h.Gate.InOptional(ctx, caller, orgID)
	if fault.Is(err, fault.Forbidden) && fault.CodeOf(err) == "" { // a code is for members only
		err = fault.New(fault.NotFound, "no such API key")
	}
	return inOrg, err
}

// RevokedBody says that a key is revoked.
type RevokedBody struct {
	ID     string `json:"id" format:"uuid"`
	Status string `json:"status" example:"revoked"`
}

type revokeInput struct {
	route.IDInput
	Own bool `query:"own" doc:"The key to revoke is the one of this call, which is refused otherwise."`
}

func (h *Handlers) revokeKey(ctx context.Context, caller principal.Principal, in *revokeInput) (RevokedBody, error) {
	caller, err := h.keyCaller(ctx, caller, in.ID)
	if err != nil {
		return RevokedBody{}, err
	}
	revoke := h.Keys.Revoke
	if in.Own {
		revoke = h.Keys.RevokeOwn
	}
	return RevokedBody{in.ID, "revoked"}, revoke(ctx, caller, in.ID)
}

func (h *Handlers) rotateKey(
	ctx context.Context, caller principal.Principal, in *route.IDInput,
) (IssuedKeyBody, error) {
	caller, err := h.keyCaller(ctx, caller, in.ID)
	if err != nil {
		return IssuedKeyBody{}, err
	}
	return h.issued(h.Keys.Rotate(ctx, caller, in.ID))
}
