package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"writ/internal/fault"
)

// How a client proves itself. It asks for none, and some authorization servers give it a secret all the same.
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

// oauthClient is this server as an authorization server knows it.
type oauthClient struct {
	id, method, secret string
	expiresAt          *time.Time // of the secret; nil: never
}

// held is what is sealed of a connection.
type held struct {
	Access  string `json:"access,omitempty"`
	Refresh string `json:"refresh,omitempty"`
	Secret  string `json:"secret,omitempty"` // of the client
	// Verifier is that of PKCE, while a person is away.
	Verifier string `json:"verifier,omitempty"`
}

// registerClient makes this server known to an authorization server (RFC 7591).
func (s *Service) registerClient(ctx context.Context, a authority) (oauthClient, error) {
	if a.register == "" {
		return oauthClient{}, fault.New(fault.Conflict, "the authorization server of the MCP server registers no clients: "+
			"register %s there, and give the server its client_id", s.redirectURI())
	}
	got, err := oauthex.RegisterClient(ctx, a.register, &oauthex.ClientRegistrationMetadata{
		ClientName:              "Writ",
		RedirectURIs:            []string{s.redirectURI()},
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		TokenEndpointAuthMethod: methodNone,
		Scope:                   a.scope,
	}, s.Web)
	if err != nil { // which may show a secret
		return oauthClient{}, fault.New(fault.Conflict,
			"the authorization server of the MCP server did not register this server as its client")
	}
	c := oauthClient{id: got.ClientID, method: methodNone, secret: got.ClientSecret}
	if c.secret != "" {
		c.method = methodBasic
		if got.TokenEndpointAuthMethod == methodPost || got.TokenEndpointAuthMethod == methodNone {
			c.method = got.TokenEndpointAuthMethod
		}
		if at := got.ClientSecretExpiresAt; !at.IsZero() {
			c.expiresAt = &at
		}
	}
	if len(c.id) > maxText || len(c.secret) > maxToken {
		return oauthClient{}, fault.New(fault.Conflict,
			"the authorization server of the MCP server gives a client_id that is too long")
	}
	return c, nil
}

// granted are tokens as an authorization server gives them.
type granted struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int64  `json:"expires_in"`
	Refresh   string `json:"refresh_token"`
	Scope     string `json:"scope"`
	Error     string `json:"error"`
}

// errRefused is the answer of an authorization server that does not give what it was asked for, and never will.
var errRefused = errors.New("the authorization server refuses")

// ask asks for tokens. Nothing of the answer is in an error.
func (s *Service) ask(ctx context.Context, at place, clientID, clientSecret string, form url.Values) (granted, error) {
	response, err := s.post(ctx, at, at.tokenURL, clientID, clientSecret, form)
	if err != nil {
		return granted{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return granted{}, err
	}
	var g granted
	if len(text) > maxAnswer || json.Unmarshal(text, &g) != nil {
		return granted{}, fmt.Errorf("the authorization server answers %d with no JSON that can be read", response.StatusCode)
	}
	switch {
	case response.StatusCode == http.StatusBadRequest && g.Error == "invalid_grant":
		return granted{}, errRefused
	case response.StatusCode != http.StatusOK:
		return granted{}, fmt.Errorf("the authorization server answers %d", response.StatusCode)
	case !strings.EqualFold(g.Type, "Bearer") || !isToken(g.Access) || g.Refresh != "" && !isToken(g.Refresh) ||
		len(g.Scope) > maxText:
		return granted{}, errors.New("the authorization server gives no token that can be used")
	}
	return g, nil
}

func (s *Service) post(
	ctx context.Context, at place, to, clientID, clientSecret string, form url.Values,
) (*http.Response, error) {
	if at.method != methodBasic {
		form.Set("client_id", clientID)
	}
	if at.method == methodPost {
		form.Set("client_secret", clientSecret)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if at.method == methodBasic {
		request.SetBasicAuth(url.QueryEscape(clientID), url.QueryEscape(clientSecret))
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	return s.Web.Do(request)
}

// isToken reports whether a text can be sent in a header.
func isToken(text string) bool {
	return text != "" && len(text) <= maxToken &&
		!strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// expiry is when the access token ends; nil: not known.
func (g *granted) expiry(now time.Time) *time.Time {
	const most = 365 * 24 * 60 * 60
	if g.ExpiresIn <= 0 {
		return nil
	}
	at := now.Add(time.Duration(min(g.ExpiresIn, most)) * time.Second)
	return &at
}
