package accounts

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/auth/federation"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountIdentities serves the identities with which a person can sign in to their account.
func (h *Handlers) mountIdentities(r *route.Router) {
	route.Handle(r, route.Get("/auth/identities", "The identities with which the caller can sign in").
		For(route.Person), h.listIdentities)
	route.HandleOutput(r, route.Post("/auth/identities",
		"Begin to link an identity to the caller's account: open the returned URL in the same browser").
		For(route.Person).Throttled(throttle.SignIn).Unrecorded().AsksAgain(), h.linkIdentity)
	route.Handle(r, route.Delete("/auth/identities/{id}", "Remove an identity from the caller's account").
		For(route.Person).Records("identity.unlinked").Answers(http.StatusNoContent), h.unlinkIdentity)
}

// IdentityBody is an account at an identity provider with which a person can sign in.
type IdentityBody struct {
	ID             string    `json:"id" format:"uuid"`
	OrganizationID *string   `json:"organizationId" doc:"The organization whose identity provider it is from; null: Google."`
	Issuer         string    `json:"issuer"`
	Email          string    `json:"email" doc:"As the provider reports it."`
	Linked         bool      `json:"linked" doc:"Whether the account's owner linked it."`
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

func (h *Handlers) listIdentities(
	ctx context.Context, caller principal.Principal, _ *route.None,
) (route.Items[IdentityBody], error) {
	list, err := h.Federation.Identities(ctx, caller)
	return route.ItemsOf(list, identityBody), err
}

type linkIdentityInput struct {
	Body struct {
		OrganizationID string `json:"organizationId,omitempty" maxLength:"100" doc:"The organization whose identity provider to use; absent: Google."`
	}
}

type linkIdentityOutput struct {
	Cookie string `header:"Set-Cookie"`
	Body   struct {
		URL string `json:"url" doc:"Where to sign in."`
	}
}

func (h *Handlers) linkIdentity(
	ctx context.Context, caller principal.Principal, in *linkIdentityInput,
) (*linkIdentityOutput, error) {
	redirect, err := h.Federation.BeginLink(ctx, caller, in.Body.OrganizationID)
	if err != nil {
		return nil, err
	}
	out := &linkIdentityOutput{Cookie: h.stateCookie(redirect).String()}
	out.Body.URL = redirect.URL
	return out, nil
}

func (h *Handlers) unlinkIdentity(
	ctx context.Context, caller principal.Principal, in *route.IDInput,
) (route.None, error) {
	return route.None{}, h.Federation.Unlink(ctx, caller, in.ID)
}
