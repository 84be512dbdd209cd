package admission

import (
	"context"
	"net/http"
	"strings"

	"writ/internal/api/route"
	"writ/internal/credential"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// authenticate finds the credentials that a mode accepts. A valid credential of another kind is refused with the kind
// that is wanted.
func (g *Gate) authenticate(request *http.Request, r route.Route) (principal.Principal, error) {
	mode := r.Mode
	forPeople := mode == route.Person || mode == route.Session
	tokens, keys := request.Header.Values("Authorization"), request.Header.Values("X-Api-Key")
	presented, err := credential.FromHeaders(tokens, keys)
	if err != nil {
		return principal.Principal{}, err
	}
	switch {
	case presented.APIKey != "" && presented.Bearer != "":
		return g.withPlanToken(request.Context(), mode, presented)
	case mode == route.Proxy:
		if g.isProxy(presented.Bearer) {
			return principal.Principal{Kind: principal.Proxy}, nil
		}
	case presented.APIKey != "" && !forPeople:
		return g.Keys.Resolve(request.Context(), presented.APIKey)
	case mode == route.Agent && (presented.Bearer != "" || len(tokens)+len(keys) == 0):
		return principal.Principal{}, nil
	case presented.Bearer != "" && mode != route.Key && mode != route.PlanToken:
		return g.People.Authenticate(request.Context(), presented.Bearer)
	case presented.APIKey != "":
		return principal.Principal{}, fault.New(fault.Unauthenticated, "an API key cannot do this: %s",
			whoCan(r.Action))
	case mode == route.PlanToken && len(tokens)+len(keys) == 0,
		mode == route.Session && len(tokens)+len(keys) == 0 && request.Header.Get("Writ-Session") != "":
		return principal.Principal{}, nil
	}
	return principal.Principal{}, Wanted(mode)
}

// isProxy reports whether a bearer token is the enforcement proxy's.
func (g *Gate) isProxy(token string) bool {
	return g.ProxyToken != nil && secret.SameHash(secret.Hash(token), g.ProxyToken)
}

// withPlanToken admits a key that is sent beside a bearer token, which must be the JWT of a plan that this
// key declared: armorclaw sends both. The key is the caller.
func (g *Gate) withPlanToken(
	ctx context.Context, mode route.Mode, presented credential.Presented,
) (principal.Principal, error) {
	if mode == route.Person || mode == route.Session || mode == route.Proxy {
		return principal.Principal{}, credential.Disagree()
	}
	caller, err := g.Keys.Resolve(ctx, presented.APIKey)
	if err != nil {
		return principal.Principal{}, err
	}
	keyID, err := g.Plans.KeyOf(ctx, presented.Bearer)
	if err != nil {
		return principal.Principal{}, err
	}
	if keyID == "" || keyID != caller.KeyID {
		return principal.Principal{}, credential.Disagree()
	}
	return caller, nil
}

// whoCan says which people can do what no key can.
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
var wanted = map[route.Mode]string{
	route.Person:      "sign in: send Authorization: Bearer <access token>",
	route.Session:     "sign in: send Authorization: Bearer <access token>",
	route.Key:         "send an API key: x-api-key: <key>, or Authorization: Bearer <key>",
	route.PersonOrKey: "send Authorization: Bearer <access token>, or an API key in x-api-key",
	route.Proxy:       "this route is for the enforcement proxy",
	route.Agent: "send an API key in x-api-key, or the access token that Writ gave an OAuth client: " +
		"Authorization: Bearer <access token>",
	route.PlanToken: "send an API key: x-api-key: <key>, or Authorization: Bearer <key>; " +
		"or none, and the plan's token in the body",
}

// Wanted refuses a caller without the credentials that a mode accepts.
func Wanted(mode route.Mode) error { return fault.New(fault.Unauthenticated, "%s", wanted[mode]) }
