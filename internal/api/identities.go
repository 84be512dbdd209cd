package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/auth/federation"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountIdentities serves what an account's owner says of who they are elsewhere.
func (a *API) mountIdentities() {
	const tag = "auth"
	handle(a, Route{
		Method:  http.MethodGet,
		Path:    "/auth/identities",
		Tag:     tag,
		Summary: "With which identities one can sign in",
		Mode:    JWT,
	}, a.listIdentities)
	handle(a, Route{
		Method: http.MethodPost, Path: "/auth/identities", Tag: tag,
		Summary: "Begin to link an identity to one's account: open the address it gives, in the same browser",
		Mode:    JWT, Throttle: throttle.SignIn, Audit: notRecorded,
	}, a.linkIdentity)
	handle(a, Route{
		Method: http.MethodDelete, Path: "/auth/identities/{id}", Tag: tag,
		Summary: "Remove an identity from one's account",
		Mode:    JWT, Audit: "identity.unlinked", Status: http.StatusNoContent,
	}, a.unlinkIdentity)
}

// IdentityBody is who somebody is elsewhere.
type IdentityBody struct {
	ID             string    `json:"id" format:"uuid"`
	OrganizationID *string   `json:"organizationId" doc:"Whose identity provider vouches for it; null: Google."`
	Issuer         string    `json:"issuer"`
	Email          string    `json:"email" doc:"As the provider told it."`
	Linked         bool      `json:"linked" doc:"Whether the account's owner asked for it."`
	CreatedAt      time.Time `json:"createdAt"`
}

func identityBody(i federation.Identity) IdentityBody {
	body := IdentityBody{
		ID:        i.ID,
		Issuer:    i.Issuer,
		Email:     i.Email,
		Linked:    i.Linked,
		CreatedAt: i.CreatedAt,
	}
	if i.OrgID != "" {
		body.OrganizationID = &i.OrgID
	}
	return body
}

type identitiesOutput struct {
	Body struct {
		Items []IdentityBody `json:"items" nullable:"false"`
	}
}

func (a *API) listIdentities(ctx context.Context, caller principal.Principal, _ *none) (*identitiesOutput, error) {
	list, err := a.Federation.Identities(ctx, caller)
	if err != nil {
		return nil, err
	}
	out := &identitiesOutput{}
	out.Body.Items = make([]IdentityBody, len(list))
	for i, identity := range list {
		out.Body.Items[i] = identityBody(identity)
	}
	return out, nil
}

type linkIdentityInput struct {
	Body struct {
		OrganizationID string `json:"organizationId,omitempty" maxLength:"100" doc:"Whose identity provider; absent: Google."`
	}
}

type linkIdentityOutput struct {
	Cookie string `header:"Set-Cookie"`
	Body   struct {
		URL string `json:"url" doc:"Where to sign in elsewhere."`
	}
}

func (a *API) linkIdentity(
	ctx context.Context, caller principal.Principal, in *linkIdentityInput,
) (*linkIdentityOutput, error) {
	departure, err := a.Federation.BeginLink(ctx, caller, in.Body.OrganizationID)
	if err != nil {
		return nil, err
	}
	out := &linkIdentityOutput{Cookie: a.departureCookie(departure).String()}
	out.Body.URL = departure.URL
	return out, nil
}

func (a *API) unlinkIdentity(ctx context.Context, caller principal.Principal, in *IDInput) (*none, error) {
	return nil, a.Federation.Unlink(ctx, caller, in.ID)
}
