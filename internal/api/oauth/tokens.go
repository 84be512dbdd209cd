package oauth

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/oauth"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountTokens serves what clients send as forms, because OAuth says so.
func (h *Handlers) mountTokens(r *route.Router) {
	form[ClientTokensBody](r, route.Post("/oauth/token",
		"Tokens for a code or a refresh token, each of which works once").
		For(route.Public).Throttled(throttle.OAuthToken).Records("consent.collected"), h.token,
		"grant_type", "client_id", "code", "code_verifier", "redirect_uri", "resource", "refresh_token", "scope")
	form[route.None](r, route.Post("/oauth/revoke",
		"Give up a token (RFC 7009); with a refresh token the whole consent ends").
		For(route.Public).Throttled(throttle.OAuthToken).Records("consent.ended"), h.revoke,
		"token", "client_id", "token_type_hint")
}

// form mounts a route that takes a form and answers with a T.
func form[T any](
	r *route.Router, rt route.Route,
	answer func(ctx context.Context, form string) (T, error), fields ...string,
) {
	rt = rt.AnyQuery() // OAuth ignores what it does not know (RFC 6749, 3.2)
	r.Serve(rt, func(w http.ResponseWriter, request *http.Request, _ principal.Principal) error {
		text, err := readForm(request)
		if err != nil {
			return err
		}
		body, err := answer(request.Context(), text)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", route.JSONType)
		return route.Marshal(w, body)
	})
	properties := map[string]*huma.Schema{}
	for _, name := range fields {
		properties[name] = &huma.Schema{Type: huma.TypeString}
	}
	r.Document(rt, huma.Operation{
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			formType: {Schema: &huma.Schema{Type: huma.TypeObject, Properties: properties}},
		}},
		Responses: map[string]*huma.Response{
			strconv.Itoa(http.StatusOK): {Description: http.StatusText(http.StatusOK), Content: route.Content[T](r)},
		},
	}, http.StatusUnauthorized, http.StatusInternalServerError)
}

const formType = "application/x-www-form-urlencoded"

func readForm(r *http.Request) (string, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != formType {
		return "", fault.New(fault.Invalid, "Content-Type: must be %s", formType)
	}
	if r.Header.Get("Content-Encoding") != "" {
		return "", fault.New(fault.Invalid, "Content-Encoding: must be none")
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxForm+1))
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "the request body could not be read")
	}
	if len(text) > maxForm {
		return "", fault.New(fault.TooLarge, "the request body is larger than %d bytes", maxForm)
	}
	return string(text), nil
}

// ClientTokensBody is what a client gets. The members are those of OAuth.
type ClientTokensBody struct {
	AccessToken  string `json:"access_token" doc:"Good at the proxy alone, for the resource that the client named."`
	TokenType    string `json:"token_type" enum:"Bearer"`
	ExpiresIn    int    `json:"expires_in" doc:"Seconds until the access token expires." example:"600"`
	RefreshToken string `json:"refresh_token" doc:"Works once. Using it twice ends the consent."`
	Scope        string `json:"scope" enum:"mcp"`
}

func (h *Handlers) token(ctx context.Context, form string) (ClientTokensBody, error) {
	tokens, err := h.OAuth.Grant(ctx, form)
	if err != nil {
		return ClientTokensBody{}, err
	}
	return ClientTokensBody{
		AccessToken:  tokens.Access.Reveal(),
		TokenType:    "Bearer",
		ExpiresIn:    int(tokens.ExpiresIn.Seconds()),
		RefreshToken: tokens.Refresh.Reveal(),
		Scope:        oauth.Scope,
	}, nil
}

func (h *Handlers) revoke(ctx context.Context, form string) (route.None, error) {
	return route.None{}, h.OAuth.Revoke(ctx, form)
}

type registerClientInput struct {
	Body struct {
		ClientName    string   `json:"client_name,omitempty" doc:"At most 80 characters. The consent page says that it is only what the client says."`
		RedirectURIs  []string `json:"redirect_uris,omitempty" nullable:"true" doc:"1 to 10, with https or at a loopback address, whose port may differ later."`
		GrantTypes    []string `json:"grant_types,omitempty" nullable:"true"`
		ResponseTypes []string `json:"response_types,omitempty" nullable:"true"`
	}
}

// RegisteredClientBody is a client as it was registered. The members are those of RFC 7591.
type RegisteredClientBody struct {
	ClientID      string   `json:"client_id"`
	IssuedAt      int64    `json:"client_id_issued_at" doc:"Seconds since 1970."`
	ClientName    string   `json:"client_name,omitempty"`
	RedirectURIs  []string `json:"redirect_uris" nullable:"false"`
	AuthMethod    string   `json:"token_endpoint_auth_method" enum:"none" doc:"Clients have no secret, whatever they ask for."`
	GrantTypes    []string `json:"grant_types" nullable:"false"`
	ResponseTypes []string `json:"response_types" nullable:"false"`
}

func (h *Handlers) register(
	ctx context.Context, _ principal.Principal, in *registerClientInput,
) (RegisteredClientBody, error) {
	client, err := h.OAuth.Register(ctx, oauth.Metadata{
		ClientName: in.Body.ClientName, RedirectURIs: in.Body.RedirectURIs,
		GrantTypes: in.Body.GrantTypes, ResponseTypes: in.Body.ResponseTypes,
	})
	if err != nil {
		return RegisteredClientBody{}, err
	}
	return RegisteredClientBody{
		ClientID:      client.ID,
		IssuedAt:      client.CreatedAt.Unix(),
		ClientName:    client.Name,
		RedirectURIs:  client.RedirectURIs,
		AuthMethod:    noSecret,
		GrantTypes:    grantTypes,
		ResponseTypes: responseTypes,
	}, nil
}

// ClientErrorBody is an error with the member names of OAuth as well as ours.
type ClientErrorBody struct {
	route.ErrorBody
	Description string `json:"error_description" doc:"The message under OAuth's name; error is a code of OAuth."`
}

// oauthErrors gives every error of clients a code of OAuth.
var oauthErrors = route.Shape{
	Matches: func(path string) bool { return path == tokenPath || path == registerPath || path == revokePath },
	Of: func(err error, body route.ErrorBody) any {
		refusal := oauth.RefusalOf(err)
		switch {
		case refusal != nil:
			body.ErrorText = refusal.Code
		case body.StatusCode == http.StatusTooManyRequests || body.StatusCode == http.StatusServiceUnavailable:
			body.ErrorText = "temporarily_unavailable"
		case body.StatusCode >= http.StatusInternalServerError:
			body.ErrorText = "server_error"
		default:
			body.ErrorText = oauth.InvalidRequest
		}
		return ClientErrorBody{body, body.Message}
	},
	Documented: ClientErrorBody{},
}
