// Package oauth serves Writ as the authorization server of its proxy: what clients ask (metadata, registration,
// tokens) in OAuth's own words, and what the consent page and people ask in ours.
package oauth

import (
	"net/http"
	"net/url"

	"writ/internal/agent"
	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/oauth"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// Handlers serve OAuth.
type Handlers struct {
	Gate   *admission.Gate
	OAuth  *oauth.Service
	Agents *agent.Service
}

// Where clients ask. Routes are declared with their paths written out.
const (
	authorizePath = "/oauth/authorize"
	tokenPath     = "/oauth/token"
	registerPath  = "/oauth/register"
	revokePath    = "/oauth/revoke"
)

// consentPage is the screen of the dashboard where a person answers.
const consentPage = "/ui/consent"

// maxForm is how many bytes a client may send.
const maxForm = 8 << 10

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("oauth")
	r.ShapeErrors(oauthErrors)
	h.mountMetadata(r)
	route.Handle(r, route.Post("/oauth/register", "Register an OAuth client, which describes itself (RFC 7591)").
		For(route.Public).Throttled(throttle.RegisterClient).Unrecorded().UpTo(32<<10).
		Answers(http.StatusCreated), h.register)
	h.mountTokens(r)
	r.Page("GET "+authorizePath, authorize)
	h.mountConsent(r)
	person := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ReadOrganization) }
	route.Handle(r, person(route.Get("/organization/{orgId}/consents",
		"Consents to OAuth clients, newest first: all to people who manage keys, else the caller's own")), h.list)
	route.Handle(r, person(route.Delete("/organization/{orgId}/consents/{consentId}",
		"End a consent: its tokens and its key stop at once")).
		Records("consent.ended").Answers(http.StatusNoContent), h.end)
}

// authorize sends the browser of a person to the consent page, with the client's request as it is. Nothing is checked
// before the person has signed in: until then no browser is sent to an address that a client chose, and no document
// that it names is read.
func authorize(w http.ResponseWriter, r *http.Request) {
	to := consentPage // which says that nothing is asked for
	if query := r.URL.RawQuery; query != "" && len(query) <= maxForm {
		to += "?request=" + url.QueryEscape(query)
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
}
