package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"writ/internal/credential"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
)

type callerKey struct{}

// callerOf is who guard let in; nobody on public routes.
func callerOf(ctx context.Context) principal.Principal {
	caller, _ := ctx.Value(callerKey{}).(principal.Principal)
	return caller
}

// guard lets the callers of a route in, before anything of the body is read.
func (a *API) guard(r Route) func(ctx huma.Context, next func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		request, w := humago.Unwrap(ctx)
		// Answers are JSON whatever is asked for, and huma's reader of this
		// header panics on some texts.
		request.Header.Del("Accept")
		caller, err := a.admit(request, r)
		if err != nil {
			a.writeError(w, request, err)
			return
		}
		next(huma.WithValue(ctx, callerKey{}, caller))
	}
}

// admit authenticates the caller of a route and checks what the route asks of
// them.
func (a *API) admit(request *http.Request, r Route) (principal.Principal, error) {
	if r.GetChanges && request.Method != r.Method {
		return principal.Principal{}, fault.New(fault.Invalid,
			"this path takes %s only: its answer is what was changed", r.Method)
	}
	if r.Mode == Public {
		return principal.Principal{}, nil
	}
	caller, err := a.authenticate(request, r)
	if err != nil {
		return principal.Principal{}, err
	}
	if caller.Kind == principal.Key && r.Scope != anyScope && !caller.HasScope(r.Scope) {
		return principal.Principal{}, fault.New(fault.Forbidden, "this API key does not have the scope %q", r.Scope)
	}
	if r.Action == "" {
		return caller, a.checkLimit(caller, r)
	}
	caller, err = a.place(request, caller, r)
	if err == nil && caller.Kind == principal.Key && r.Scope == principal.DraftPolicy {
		// Who reads and writes policies does a person's work: the key does no more
		// than its owner still may.
		caller, err = a.inOrganization(request.Context(), caller, caller.OrgID)
	} else if caller.Kind == principal.Key {
		return caller, err // what a key may do its scopes say
	}
	if err != nil {
		return principal.Principal{}, err
	}
	return caller, caller.Require(r.Action)
}

// checkLimit refuses a limited sign-in where no organization is named, unless the
// route says that it keeps to the one: what an organization's identity provider
// vouches for must not reach the rest of a person's account.
func (a *API) checkLimit(caller principal.Principal, r Route) error {
	if caller.Kind != principal.User || caller.LimitedTo == "" || r.ForLimited {
		return nil
	}
	return fault.New(fault.Forbidden,
		"you signed in with an organization's identity provider, which does not vouch for this; sign in with your password")
}

// place is the caller in the organization a route is about: that of the path, or
// of the policy or plan in the path, or the one the query names.
func (a *API) place(request *http.Request, caller principal.Principal, r Route) (principal.Principal, error) {
	switch {
	case r.OrganizationScoped():
		return a.inOrganization(request.Context(), caller, request.PathValue("orgId"))
	case strings.Contains(r.Path, policyParameter):
		return a.inPolicy(request.Context(), caller, request.PathValue("policyId"))
	case strings.Contains(r.Path, planParameter):
		return a.inPlan(request.Context(), caller, request.PathValue("planId"))
	}
	return a.inNamed(request.Context(), caller, request.URL.Query().Get(organizationQuery))
}

// authenticate finds the credentials a mode accepts. A good credential of
// another kind is refused with the kind that is wanted.
func (a *API) authenticate(request *http.Request, r Route) (principal.Principal, error) {
	mode := r.Mode
	presented, err := credential.FromHeaders(request.Header.Values("Authorization"), request.Header.Values("X-Api-Key"))
	if err != nil {
		return principal.Principal{}, err
	}
	switch {
	case mode == Proxy:
		if a.ProxyToken.Equal(presented.Bearer) {
			return principal.Principal{Kind: principal.System}, nil
		}
	case presented.APIKey != "" && mode != JWT:
		return a.Keys.Resolve(request.Context(), presented.APIKey)
	case presented.Bearer != "" && mode != Key && mode != PlanToken:
		return a.Auth.Authenticate(request.Context(), presented.Bearer)
	case presented.APIKey != "":
		return principal.Principal{}, fault.New(fault.Unauthenticated, "an API key cannot do this: %s",
			whoCan(r.Action))
	case mode == PlanToken && len(request.Header.Values("Authorization"))+len(request.Header.Values("X-Api-Key")) == 0:
		return principal.Principal{}, nil
	}
	return principal.Principal{}, fault.New(fault.Unauthenticated, "%s", wanted[mode])
}

// whoCan says who does what no key can: people who sign in.
func whoCan(action principal.Action) string {
	var roles []string
	for _, role := range principal.Roles() {
		if role.May(action) {
			roles = append(roles, string(role))
		}
	}
	whom := "somebody"
	if len(roles) > 0 && len(roles) < len(principal.Roles()) {
		whom = "somebody who is " + strings.Join(roles, " or ") + " of the organization"
	}
	return whom + " signs in for it, and sends Authorization: Bearer <access token>"
}

// wanted says which credentials a mode accepts.
var wanted = map[Mode]string{
	JWT:    "sign in: send Authorization: Bearer <access token>",
	Key:    "send an API key: x-api-key: <key>, or Authorization: Bearer <key>",
	Either: "send Authorization: Bearer <access token>, or an API key in x-api-key",
	Proxy:  "this route is for the enforcement proxy",

	PlanToken: "send an API key: x-api-key: <key>, or Authorization: Bearer <key>; or none, and the plan's token in the body",
}

// inOrganization is the caller with the role they hold in an organization. A
// key acts for its owner, and in its own organization only: when the owner
// leaves, it may do no more.
func (a *API) inOrganization(
	ctx context.Context, caller principal.Principal, orgID string,
) (principal.Principal, error) {
	if caller.Kind == principal.Key && caller.OrgID != orgID {
		return principal.Principal{}, fault.New(fault.Forbidden,
			"this API key belongs to another organization; switch to that one")
	}
	if caller.LimitedTo != "" && caller.LimitedTo != orgID {
		return principal.Principal{}, fault.New(fault.Forbidden, "this sign-in is good for another organization only")
	}
	role, err := a.Organizations.RoleOf(ctx, orgID, caller.UserID)
	if err != nil {
		return principal.Principal{}, err
	}
	if err := a.checkVouched(ctx, caller, orgID, role); err != nil {
		return principal.Principal{}, err
	}
	caller.OrgID, caller.Role = orgID, role
	return caller, nil
}

// checkVouched holds an organization's wish that its people sign in with its own
// provider, and their terminals with them. Owners are let in without: a provider
// that fails must not lock out who can replace it.
func (a *API) checkVouched(ctx context.Context, caller principal.Principal, orgID string, role principal.Role) error {
	ofAgent := caller.Kind == principal.Key && !caller.HasScope(principal.CLI)
	if ofAgent || caller.LimitedTo == orgID || role == principal.Owner {
		return nil
	}
	return refuseEnforced(a.Federation.Enforces(ctx, orgID))
}

// refuseEnforced is the answer to who did not sign in with the provider.
func refuseEnforced(enforced bool, err error) error {
	if err != nil {
		return err
	}
	if enforced {
		return fault.New(fault.Forbidden, "this organization wants its members to sign in with its identity provider")
	}
	return nil
}

// mine are the organizations of a caller, as far as the sign-in is good for them.
func (a *API) mine(ctx context.Context, caller principal.Principal) ([]organization.Membership, error) {
	mine, err := a.Organizations.ListForUser(ctx, caller.UserID)
	if err != nil || caller.LimitedTo == "" {
		return mine, err
	}
	return slices.DeleteFunc(mine, func(m organization.Membership) bool { return m.ID != caller.LimitedTo }), nil
}

// inOptionalOrganization is inOrganization where the organization may be none. A
// limited sign-in always has one.
func (a *API) inOptionalOrganization(
	ctx context.Context, caller principal.Principal, orgID string,
) (principal.Principal, error) {
	if orgID == "" && caller.LimitedTo != "" {
		return principal.Principal{}, fault.New(fault.Forbidden,
			"this sign-in is good for one organization only: name it")
	}
	if orgID == "" && (caller.Kind == principal.User || caller.OrgID == "") {
		caller.OrgID, caller.Role = "", ""
		return caller, nil
	}
	return a.inOrganization(ctx, caller, orgID)
}

// inNamed is the caller in the organization they name. A key has only its own and
// need not name it, nor does a person who is in one alone. A key that does not
// act for its owner goes on when the owner leaves.
func (a *API) inNamed(ctx context.Context, caller principal.Principal, orgID string) (principal.Principal, error) {
	if caller.Kind == principal.Key {
		if caller.OrgID == "" || orgID != "" && orgID != caller.OrgID {
			return principal.Principal{}, fault.New(fault.Forbidden, "this API key does not belong to the organization")
		}
		return caller, nil
	}
	if orgID == "" {
		mine, err := a.mine(ctx, caller)
		if err != nil {
			return principal.Principal{}, err
		}
		if len(mine) != 1 {
			return principal.Principal{}, fault.Field(organizationQuery, "is required: you are in %d organizations",
				len(mine))
		}
		orgID = mine[0].ID
	}
	return a.inOrganization(ctx, caller, orgID)
}

// inPolicy is the caller in the organization of a policy. Someone who is not in it
// cannot tell the policy from one that does not exist.
func (a *API) inPolicy(ctx context.Context, caller principal.Principal, policyID string) (principal.Principal, error) {
	orgID, err := a.Policies.OrgOf(ctx, policyID)
	if err != nil {
		return principal.Principal{}, err
	}
	inOrg, err := a.inNamed(ctx, caller, orgID)
	if fault.Is(err, fault.Forbidden) {
		return principal.Principal{}, fault.New(fault.NotFound, "no such policy")
	}
	return inOrg, err
}

// inPlan is the caller in the organization of a plan, which is as unknown to
// others as a policy.
func (a *API) inPlan(ctx context.Context, caller principal.Principal, planID string) (principal.Principal, error) {
	orgID, err := a.Intent.OrgOf(ctx, planID)
	if err != nil {
		return principal.Principal{}, err
	}
	inOrg, err := a.inNamed(ctx, caller, orgID)
	if fault.Is(err, fault.Forbidden) {
		return principal.Principal{}, fault.New(fault.NotFound, "no such plan")
	}
	return inOrg, err
}

// hideForbidden answers "not found" to whoever may not know.
func hideForbidden(err error) error {
	if fault.Is(err, fault.Forbidden) {
		return fault.New(fault.NotFound, "no such API key")
	}
	return err
}

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"accessToken": {
			Type:         "http",
			Scheme:       "bearer",
			BearerFormat: "JWT",
			Description:  "Access token of a signed-in person, from POST /auth/login.",
		},
		"apiKey": {
			Type: "apiKey", In: "header", Name: "x-api-key", Description: "API key of an agent, SDK or plugin.",
		},
		"proxyToken": {Type: "http", Scheme: "bearer", Description: "The enforcement proxy's own token."},
	}
}

func security(mode Mode) []map[string][]string {
	token, key := map[string][]string{"accessToken": {}}, map[string][]string{"apiKey": {}}
	switch mode {
	case JWT:
		return []map[string][]string{token}
	case Key:
		return []map[string][]string{key}
	case Either:
		return []map[string][]string{token, key}
	case PlanToken:
		return []map[string][]string{key, {}}
	case Proxy:
		return []map[string][]string{{"proxyToken": {}}}
	case Public:
	}
	return nil
}

// challenge is the WWW-Authenticate header of a 401.
func challenge(message string) string {
	return `Bearer realm="writ", error="invalid_token", error_description="` + strings.ReplaceAll(message, `"`, `'`) +
		`"`
}
