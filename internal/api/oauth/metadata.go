package oauth

import (
	"context"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/oauth"
	"writ/internal/principal"
)

func (h *Handlers) mountMetadata(r *route.Router) {
	route.Handle(r, route.Get("/.well-known/oauth-authorization-server",
		"What OAuth clients must know of this server (RFC 8414)").For(route.Public), h.serverMetadata)
	proxy := func(context.Context, principal.Principal, *route.None) (ProtectedResourceBody, error) {
		return h.resource(""), nil
	}
	route.Handle(r, route.Get("/.well-known/oauth-protected-resource",
		"Who gives tokens for the proxy (RFC 9728)").For(route.Public), proxy)
	route.Handle(r, route.Get("/.well-known/oauth-protected-resource/proxy/mcp",
		"The same, where clients look first").For(route.Public), proxy)
	// The controller of the specification's map. The flows themselves are where these say.
	route.Handle(r, route.Get("/proxy-enforcement/oauth",
		"Where clients get tokens for the proxy, and end them").For(route.Public), h.serverMetadata)
	route.Handle(r, route.Get("/proxy-enforcement/resource",
		"What tokens for the proxy are good for").For(route.Public), proxy)
	route.Handle(r, route.Get("/.well-known/oauth-protected-resource/proxy/mcp/{mcpId}",
		"Who gives tokens for one MCP server behind the proxy, whether or not it exists").For(route.Public),
		func(_ context.Context, _ principal.Principal, in *serverInput) (ProtectedResourceBody, error) {
			if !oauth.IsServer(in.ID) {
				return ProtectedResourceBody{}, fault.New(fault.NotFound, "there is nothing at this path")
			}
			return h.resource(in.ID), nil
		})
}

type serverInput struct {
	ID string `path:"mcpId" doc:"The MCP server, as in the path of the proxy."`
}

// AuthorizationServerBody is this server as OAuth clients see it. The members are those of RFC 8414.
type AuthorizationServerBody struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	Scopes                []string `json:"scopes_supported" nullable:"false"`
	ResponseTypes         []string `json:"response_types_supported" nullable:"false"`
	ResponseModes         []string `json:"response_modes_supported" nullable:"false"`
	GrantTypes            []string `json:"grant_types_supported" nullable:"false"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported" nullable:"false"`
	TokenAuth             []string `json:"token_endpoint_auth_methods_supported" nullable:"false"`
	RevocationAuth        []string `json:"revocation_endpoint_auth_methods_supported" nullable:"false"`
	NamesIssuer           bool     `json:"authorization_response_iss_parameter_supported"`
	TakesDocuments        bool     `json:"client_id_metadata_document_supported"`
}

func (h *Handlers) serverMetadata(
	context.Context, principal.Principal, *route.None,
) (AuthorizationServerBody, error) {
	issuer := h.OAuth.Issuer()
	return AuthorizationServerBody{
		Issuer:                issuer,
		AuthorizationEndpoint: issuer + authorizePath,
		TokenEndpoint:         issuer + tokenPath,
		RegistrationEndpoint:  issuer + registerPath,
		RevocationEndpoint:    issuer + revokePath,
		Scopes:                []string{oauth.Scope},
		ResponseTypes:         responseTypes,
		ResponseModes:         []string{"query"},
		GrantTypes:            grantTypes,
		ChallengeMethods:      []string{"S256"},
		TokenAuth:             []string{noSecret},
		RevocationAuth:        []string{noSecret},
		NamesIssuer:           true,
		TakesDocuments:        true,
	}, nil
}

// What every client gets.
var (
	responseTypes = []string{"code"}
	grantTypes    = []string{"authorization_code", "refresh_token"}
)

// noSecret is how OAuth calls clients without a secret.
const noSecret = "none"

// ProtectedResourceBody is a resource of the proxy. The members are those of RFC 9728.
type ProtectedResourceBody struct {
	Resource             string   `json:"resource" doc:"What a client names as resource when it asks for tokens."`
	AuthorizationServers []string `json:"authorization_servers" nullable:"false"`
	Scopes               []string `json:"scopes_supported" nullable:"false"`
	BearerMethods        []string `json:"bearer_methods_supported" nullable:"false"`
	Name                 string   `json:"resource_name"`
}

func (h *Handlers) resource(mcpID string) ProtectedResourceBody {
	return ProtectedResourceBody{
		Resource:             h.OAuth.Resource(mcpID),
		AuthorizationServers: []string{h.OAuth.Issuer()},
		Scopes:               []string{oauth.Scope},
		BearerMethods:        []string{"header"},
		Name:                 "Writ",
	}
}
