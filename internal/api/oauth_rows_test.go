package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/testserver"
)

// oauthClient is an OAuth client, and what it asks for.
type oauthClient struct {
	s        *testserver.Server
	id       string
	verifier string
}

const oauthRedirect = "http://127.0.0.1:4711/callback"

func newOAuthClient(s *testserver.Server) *oauthClient {
	s.T.Helper()
	s.NextMinute() // one address registers few
	var made struct {
		ID string `json:"client_id"`
	}
	err := s.Public.Call(s.T.Context(), http.MethodPost, "/oauth/register", nil,
		m{"redirect_uris": []string{oauthRedirect}}, &made)
	if err != nil {
		s.T.Fatalf("register an OAuth client: %v", err)
	}
	return &oauthClient{s, made.ID, oauth2.GenerateVerifier()}
}

func (c *oauthClient) request() string {
	return url.Values{
		"response_type":         {"code"},
		"client_id":             {c.id},
		"redirect_uri":          {oauthRedirect},
		"code_challenge":        {oauth2.S256ChallengeFromVerifier(c.verifier)},
		"code_challenge_method": {"S256"},
		"resource":              {c.s.OAuth.Resource("")},
	}.Encode()
}

// consent lets the client act as a new agent, and gives the agent and the code.
func (c *oauthClient) consent(ctx context.Context, p *client.Client, org, agent string) (code string, err error) {
	var answer struct{ ReturnTo string }
	err = p.Call(ctx, http.MethodPost, "/oauth/approve", nil,
		m{"request": c.request(), "organizationId": org, "agentId": agent}, &answer)
	if err != nil {
		return "", err
	}
	to, err := url.Parse(answer.ReturnTo)
	return to.Query().Get("code"), err
}

// form sends a form, and gives what it is answered with.
func (c *oauthClient) form(ctx context.Context, path string, values url.Values) (refresh string, err error) {
	values.Set("client_id", c.id)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.s.Public.BaseURL+path,
		strings.NewReader(values.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := c.s.Public.HTTP.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		return "", &client.Error{StatusCode: response.StatusCode, Message: path}
	}
	var tokens struct {
		Refresh string `json:"refresh_token"`
	}
	return tokens.Refresh, json.NewDecoder(response.Body).Decode(&tokens)
}

func (c *oauthClient) collect(ctx context.Context, code string) (refresh string, err error) {
	return c.form(ctx, "/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {c.verifier},
		"resource": {c.s.OAuth.Resource("")},
	})
}

// newAgent registers an agent.
func newAgent(s *testserver.Server, p *testserver.Person, org string) string {
	s.T.Helper()
	id := "agent-" + database.NewID()
	if _, err := p.RegisterAgent(s.T.Context(), org, client.NewAgent{AgentID: id}); err != nil {
		s.T.Fatalf("register an agent: %v", err)
	}
	return id
}

// someConsent is the id of a consent whose code was not collected, and its code.
func someConsent(s *testserver.Server, c *oauthClient, p *testserver.Person, org string) (id, code string) {
	s.T.Helper()
	code, err := c.consent(s.T.Context(), p.Client, org, newAgent(s, p, org))
	if err != nil {
		s.T.Fatalf("consent: %v", err)
	}
	var list client.Page[struct{ ID string }]
	path := "/organization/" + org + "/consents"
	if err := p.Call(s.T.Context(), http.MethodGet, path, nil, nil, &list); err != nil || len(list.Items) == 0 {
		s.T.Fatalf("consents: %+v, %v", list, err)
	}
	return list.Items[0].ID, code
}

// consentTenant gives a tenant a consent.
func consentTenant(s *testserver.Server, w *tenant) map[string]map[string]string {
	s.T.Helper()
	id, _ := someConsent(s, newOAuthClient(s), w.owner, w.org)
	w.private = append(w.private, id)
	return map[string]map[string]string{
		"DELETE /organization/{orgId}/consents/{consentId}": {"consentId": id},
		// everybody reads the same
		"GET /.well-known/oauth-protected-resource/proxy/mcp/{mcpId}": {"mcpId": "files"},
	}
}

func (w *changes) oauthScenarios() map[string]scenario {
	return map[string]scenario{
		"POST /oauth/register": w.registerClient,
		"POST /oauth/approve":  w.approveClient,
		"POST /oauth/deny":     w.denyClient,
		"POST /oauth/token":    w.collectTokens,
		"POST /oauth/revoke":   w.giveUpToken,

		"DELETE /organization/{orgId}/consents/{consentId}": w.endConsent,
	}
}

func (w *changes) registerClient() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		return w.Public.Call(ctx, http.MethodPost, "/oauth/register", nil,
			m{"redirect_uris": []string{oauthRedirect}}, nil)
	})
}

func (w *changes) approveClient() func(context.Context) (string, error) {
	c, agent := newOAuthClient(w.Server), newAgent(w.Server, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := c.consent(ctx, w.owner.Client, w.org, agent)
		return err
	})
}

func (w *changes) denyClient() func(context.Context) (string, error) {
	c := newOAuthClient(w.Server)
	return inLog(audit.System, func(ctx context.Context) error {
		return w.owner.Call(ctx, http.MethodPost, "/oauth/deny", nil, m{"request": c.request()}, nil)
	})
}

func (w *changes) collectTokens() func(context.Context) (string, error) {
	c := newOAuthClient(w.Server)
	_, code := someConsent(w.Server, c, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := c.collect(ctx, code)
		return err
	})
}

func (w *changes) giveUpToken() func(context.Context) (string, error) {
	c := newOAuthClient(w.Server)
	_, code := someConsent(w.Server, c, w.owner, w.org)
	refresh, err := c.collect(w.T.Context(), code)
	if err != nil {
		w.T.Fatalf("collect tokens: %v", err)
	}
	return inLog(w.org, func(ctx context.Context) error {
		_, err := c.form(ctx, "/oauth/revoke", url.Values{"token": {refresh}})
		return err
	})
}

func (w *changes) endConsent() func(context.Context) (string, error) {
	id, _ := someConsent(w.Server, newOAuthClient(w.Server), w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		return w.owner.Call(ctx, http.MethodDelete, "/organization/"+w.org+"/consents/"+id, nil, nil, nil)
	})
}

// oauthRoleCases: everybody sees and ends their own consents; what others gave is for people who manage keys.
func oauthRoleCases() []roleCase {
	var others struct{ org, id string }
	return []roleCase{
		{"GET /organization/{orgId}/consents", "list", anyRole, 0,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				return p.Call(ctx, http.MethodGet, "/organization/"+org+"/consents", nil, nil, nil)
			}},
		{"DELETE /organization/{orgId}/consents/{consentId}", "another's", managers, 404,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				if others.org != org {
					owner := s.Person("consenting")
					s.PutMember(org, owner.ID, "owner")
					others.org = org
					others.id, _ = someConsent(s, newOAuthClient(s), owner, org)
				}
				return p.Call(ctx, http.MethodDelete, "/organization/"+org+"/consents/"+others.id, nil, nil, nil)
			}},
	}
}
