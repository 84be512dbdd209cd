package oauth

import (
	"context"
	"net/url"
)

// Request is what a client asks a person for.
type Request struct {
	Client      Client
	RedirectURI string
	Resource    string

	state     string
	challenge string
}

// RedirectHost is whom the answer goes to, for a person to judge.
func (r Request) RedirectHost() string {
	u, err := url.Parse(r.RedirectURI)
	if err != nil {
		return ""
	}
	return u.Host
}

// IsLocal reports whether the answer goes to a program on the person's own machine.
func (r Request) IsLocal() bool {
	u, err := url.Parse(r.RedirectURI)
	return err == nil && isLoopback(u.Hostname())
}

// ReadRequest reads the query string of a client's request. A wrong one is a Refusal, which says where to return it
// to once the client and its redirect URI are known to belong together.
func (s *Service) ReadRequest(ctx context.Context, query string) (Request, error) {
	values, err := readForm(query, maxQuery)
	if err != nil {
		return Request{}, err
	}
	r := Request{RedirectURI: values.Get("redirect_uri"), state: values.Get("state")}
	if values.Get("client_id") == "" {
		return Request{}, refuse(InvalidRequest, "client_id: is required")
	}
	if r.Client, err = s.client(ctx, values.Get("client_id")); err != nil {
		return Request{}, err
	}
	if !redirectAllowed(r.Client.RedirectURIs, r.RedirectURI) {
		return Request{}, refuse(InvalidRequest, "redirect_uri: is not one that this client registered")
	}
	if len(r.state) > maxState {
		r.state = ""
		return Request{}, s.returned(r, refuse(InvalidRequest, "state: must have at most 2048 bytes"))
	}
	if refusal := s.readDemands(&r, values); refusal != nil {
		return Request{}, s.returned(r, refusal)
	}
	return r, nil
}

// readDemands reads what a known client asks for. It ignores scopes: there is only one.
func (s *Service) readDemands(r *Request, values url.Values) *Refusal {
	if values.Get("response_type") != "code" {
		return refuse(UnsupportedResponse, "response_type: must be code")
	}
	if mode := values.Get("response_mode"); mode != "" && mode != "query" {
		return refuse(InvalidRequest, "response_mode: must be query")
	}
	if r.challenge = values.Get("code_challenge"); !isChallenge(r.challenge) {
		return refuse(InvalidRequest, "code_challenge: is required (PKCE), a SHA-256 in base64url")
	}
	if values.Get("code_challenge_method") != "S256" {
		return refuse(InvalidRequest, "code_challenge_method: must be S256")
	}
	var isOurs bool
	if r.Resource, isOurs = s.readResource(values.Get("resource")); !isOurs {
		return refuse(InvalidTarget, "resource: is required, and must be "+s.Resource("")+" or an address below it")
	}
	return nil
}

// returned is a refusal that the client may learn of.
func (s *Service) returned(r Request, refusal *Refusal) *Refusal {
	refusal.ReturnTo = s.returnTo(r.RedirectURI, r.state, url.Values{
		"error": {refusal.Code}, "error_description": {refusal.Description},
	})
	return refusal
}

// readForm reads parameters, of which none may come twice.
func readForm(text string, most int) (url.Values, error) {
	if len(text) > most {
		return nil, refuse(InvalidRequest, "the request is too long")
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, refuse(InvalidRequest, "the request cannot be read")
	}
	for name, all := range values {
		if len(all) > 1 {
			return nil, refuse(InvalidRequest, "a parameter is there twice")
		}
		if len(name) > maxText {
			return nil, refuse(InvalidRequest, "a parameter's name is too long")
		}
	}
	return values, nil
}
