package oauth_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/oauth"
	"writ/internal/testserver"
)

type m = map[string]any

// flow is a client, and a person who may let it act as an agent.
type flow struct {
	*testserver.Server
	t         *testing.T
	owner     *testserver.Person
	org       string
	agent     string
	clientID  string
	verifier  string
	lastState string
}

const redirect = "http://127.0.0.1:4711/callback"

func eachFlow(t *testing.T, body func(t *testing.T, f *flow), settings ...string) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		body(t, newFlow(t, s))
	}, settings...)
}

func newFlow(t *testing.T, s *testserver.Server) *flow {
	t.Helper()
	f := &flow{Server: s, t: t, owner: s.Person("owner"), agent: "assistant"}
	f.verifier = oauth2.GenerateVerifier()
	f.org = s.Organization(f.owner, "Harbour")
	f.registerAgent(f.owner, f.agent)
	f.clientID = f.register(redirect)
	return f
}

func (f *flow) registerAgent(p *testserver.Person, id string) {
	f.t.Helper()
	if _, err := f.owner.RegisterAgent(f.t.Context(), f.org, client.NewAgent{AgentID: id, OwnerID: p.ID}); err != nil {
		f.t.Fatalf("register an agent: %v", err)
	}
}

// register registers a client.
func (f *flow) register(redirects ...string) string {
	f.t.Helper()
	var made struct {
		ID     string `json:"client_id"`
		Method string `json:"token_endpoint_auth_method"`
	}
	err := f.Public.Call(f.t.Context(), http.MethodPost, "/oauth/register", nil, m{
		"client_name": "Some Client", "redirect_uris": redirects, "token_endpoint_auth_method": "client_secret_basic",
	}, &made)
	if err != nil || made.ID == "" || made.Method != "none" {
		f.t.Fatalf("register a client: %+v, %v", made, err)
	}
	return made.ID
}

// query is what the client sends to the authorization endpoint; an empty value takes a parameter away.
func (f *flow) query(changes ...string) string {
	f.lastState = oauth2.GenerateVerifier()
	values := url.Values{
		"response_type":         {"code"},
		"client_id":             {f.clientID},
		"redirect_uri":          {redirect},
		"state":                 {f.lastState},
		"code_challenge":        {oauth2.S256ChallengeFromVerifier(f.verifier)},
		"code_challenge_method": {"S256"},
		"resource":              {f.OAuth.Resource("")},
		"scope":                 {"mcp offline_access"},
	}
	for i := 0; i < len(changes); i += 2 {
		values.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			values.Del(changes[i])
		}
	}
	return values.Encode()
}

type returned struct {
	ReturnTo string `json:"returnTo"`
}

// tryApprove answers as the consent page does.
func (f *flow) tryApprove(p *testserver.Person, query, org, agent string) (string, error) {
	var answer returned
	err := p.Call(f.t.Context(), http.MethodPost, "/oauth/approve", nil,
		m{"request": query, "organizationId": org, "agentId": agent}, &answer)
	return answer.ReturnTo, err
}

// approve is the code of an approved request.
func (f *flow) approve(changes ...string) string {
	f.t.Helper()
	query := f.query(changes...)
	to, err := f.tryApprove(f.owner, query, f.org, f.agent)
	if err != nil {
		f.t.Fatalf("approve: %v", err)
	}
	values := queryOf(f.t, to)
	if values.Get("iss") != f.OAuth.Issuer() || values.Get("state") != f.lastState || values.Get("code") == "" {
		f.t.Fatalf("the client is told %s", to)
	}
	return values.Get("code")
}

func queryOf(t *testing.T, text string) url.Values {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// answer is one of the token endpoint.
type answer struct {
	status       int
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	ExpiresIn    int    `json:"expires_in"`
	Error        string `json:"error"`
	Description  string `json:"error_description"`
}

func (f *flow) post(path string, values url.Values, headers ...string) (a answer) {
	f.t.Helper()
	got := f.Request(f.t, http.MethodPost, path, values.Encode(),
		append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
	a.status = got.Status
	if err := json.Unmarshal(got.Body, &a); err != nil {
		f.t.Fatalf("%s: %v: %s", path, err, got.Body)
	}
	if got.Header.Get("Cache-Control") != "no-store" {
		f.t.Errorf("%s may be cached", path)
	}
	return a
}

// exchange sends a code; an empty value takes a parameter away.
func (f *flow) exchange(code string, changes ...string) answer {
	f.t.Helper()
	values := url.Values{
		"grant_type":    {"authorization_code"},
		"client_id":     {f.clientID},
		"code":          {code},
		"code_verifier": {f.verifier},
		"redirect_uri":  {redirect},
		"resource":      {f.OAuth.Resource("")},
	}
	for i := 0; i < len(changes); i += 2 {
		values.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			values.Del(changes[i])
		}
	}
	return f.post("/oauth/token", values)
}

func (f *flow) refresh(token string, changes ...string) answer {
	f.t.Helper()
	values := url.Values{"grant_type": {"refresh_token"}, "client_id": {f.clientID}, "refresh_token": {token}}
	for i := 0; i < len(changes); i += 2 {
		values.Set(changes[i], changes[i+1])
	}
	return f.post("/oauth/token", values)
}

// tokens are those of a new consent.
func (f *flow) tokens() answer {
	f.t.Helper()
	got := f.exchange(f.approve())
	if got.status != http.StatusOK || got.AccessToken == "" || got.RefreshToken == "" || got.ExpiresIn != 600 {
		f.t.Fatalf("tokens: %+v", got)
	}
	return got
}

func (f *flow) authenticate(token string) (oauth.Granted, error) {
	return f.OAuth.Authenticate(f.t.Context(), token, "")
}

// wantWorks checks that a token gives the principal of the hidden key.
func (f *flow) wantWorks(what, token string) oauth.Granted {
	f.t.Helper()
	granted, err := f.authenticate(token)
	if err != nil || granted.Caller.OrgID != f.org || granted.Caller.KeyID == "" || granted.AgentID != f.agent {
		f.t.Errorf("%s: %+v, %v, want the token to work", what, granted, err)
	}
	return granted
}

// wantRefused checks that a token gives nothing.
func (f *flow) wantRefused(what, token string, kind fault.Kind) {
	f.t.Helper()
	granted, err := f.authenticate(token)
	if !fault.Is(err, kind) || granted.Caller.KeyID != "" {
		f.t.Errorf("%s: %+v, %v, want it refused as %s", what, granted, err, kind)
	}
}

func (f *flow) wantError(what string, got answer, status int, code string) {
	f.t.Helper()
	if got.status != status || got.Error != code || got.AccessToken != "" || got.Description == "" {
		f.t.Errorf("%s: %+v, want %d %s", what, got, status, code)
	}
}

// recorded reports whether the organization's log has an action.
func (f *flow) recorded(action string) bool {
	f.t.Helper()
	return slices.Contains(f.Recorded(audit.LogOf(f.org)), action)
}

type consent struct {
	ID       string  `json:"id"`
	KeyID    string  `json:"keyId"`
	OwnerID  string  `json:"ownerId"`
	EndedAt  *string `json:"endedAt"`
	EndedFor string  `json:"endedFor"`
}

func (f *flow) consents(p *testserver.Person) []consent {
	f.t.Helper()
	var list client.Page[consent]
	if err := p.Call(f.t.Context(), http.MethodGet, "/organization/"+f.org+"/consents", nil, nil, &list); err != nil {
		f.t.Fatalf("list consents: %v", err)
	}
	return list.Items
}

func (f *flow) end(p *testserver.Person, id string) error {
	return p.Call(context.WithoutCancel(f.t.Context()), http.MethodDelete, "/organization/"+f.org+"/consents/"+id,
		nil, nil, nil)
}

// wantNowhere checks that none of some secrets is stored as it is.
func (f *flow) wantNowhere(secrets ...string) {
	f.t.Helper()
	for _, row := range f.Dump() {
		for _, text := range secrets {
			if strings.Contains(row, text) {
				f.t.Errorf("a secret is stored as it is: %.200s", row)
			}
		}
	}
}
