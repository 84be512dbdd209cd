package oauth

import (
	"net/http"

	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/credential"
	"writ/internal/fault"
	"writ/internal/oauth"
)

// Admit authenticates a request to the proxy by its access token: at the address of one MCP server, or with an empty
// id at that of all. challenge is set if the answer is a 401, whose WWW-Authenticate it is: it tells the client where
// to get a token. API keys are not for this function: a request with one is refused.
func Admit(
	service *oauth.Service,
	r *http.Request,
	mcpID string,
) (granted oauth.Granted, challenge string, err error) {
	presented, err := credential.FromHeaders(r.Header.Values("Authorization"), r.Header.Values("X-Api-Key"))
	switch {
	case err != nil:
	case presented.APIKey != "" && presented.Bearer != "":
		err = credential.Disagree()
	case !oauth.IsAccessToken(presented.Bearer):
		err = admission.Wanted(route.Agent)
	default:
		granted, err = service.Authenticate(r.Context(), presented.Bearer, mcpID)
	}
	if fault.Is(err, fault.Unauthenticated) {
		challenge = service.Challenge(mcpID, presented.Bearer != "")
	}
	return granted, challenge, err
}
