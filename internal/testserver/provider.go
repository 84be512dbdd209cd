package testserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"writ/client"
	"writ/internal/database"
	"writ/internal/principal"
)

// Provider is an identity provider on this machine.
type Provider struct {
	*mockoidc.MockOIDC
	mu sync.Mutex // guards the queue of users
}

// NewProvider starts one whose requests wait for each other: it keeps its sessions in a
// map that it does not guard, and tests of both databases share it.
func NewProvider(t *testing.T) *Provider {
	t.Helper()
	var mu sync.Mutex
	return NewProviderWith(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
}

// NewProviderWith starts one with a handler around each of its own.
func NewProviderWith(t *testing.T, around func(http.Handler) http.Handler) *Provider {
	t.Helper()
	server, err := mockoidc.NewServer(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.AddMiddleware(around); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(httptest.NewUnstartedServer(nil).Listener, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Errorf("stop the identity provider: %v", err)
		}
	})
	return &Provider{MockOIDC: server}
}

// PermitLoopback lets the server call providers on this machine.
var PermitLoopback = []string{"WRIT_OUTBOUND_ALLOW", "127.0.0.0/8"}

// AsGoogle are the settings that make this provider Google.
func (e *Provider) AsGoogle() []string {
	return append([]string{
		"WRIT_GOOGLE_CLIENT_ID", e.ClientID, "WRIT_GOOGLE_CLIENT_SECRET", e.ClientSecret, "WRIT_GOOGLE_ISSUER",
		e.Issuer(),
	}, PermitLoopback...)
}

// Settings set it up as the provider of an organization.
func (e *Provider) Settings(domains ...string) client.ProviderSettings {
	return client.ProviderSettings{
		Issuer:       e.Issuer(),
		ClientID:     e.ClientID,
		ClientSecret: e.ClientSecret,
		Domains:      domains,
		DefaultRole:  "member",
	}
}

// SetProvider has an organization use it.
func (s *Server) SetProvider(owner *Person, orgID string, e *Provider, domains ...string) {
	s.T.Helper()
	if _, err := owner.SetIdentityProvider(s.T.Context(), orgID, e.Settings(domains...)); err != nil {
		s.T.Fatalf("set the identity provider up: %v", err)
	}
}

// Someone is a person as a provider knows them.
func Someone(email string) *mockoidc.MockUser {
	return &mockoidc.MockUser{Subject: database.NewID(), Email: email, EmailVerified: true}
}

// Browser keeps cookies and shows redirects.
type Browser struct {
	s       *Server
	client  *http.Client
	Cookies map[string]string
}

// Browser is a new browser.
func (s *Server) Browser() *Browser {
	transport := http.DefaultTransport
	if s.Public.HTTP != nil {
		transport = s.Public.HTTP.Transport
	}
	return &Browser{s: s, Cookies: map[string]string{}, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Open sends a request to our server. Headers come in pairs.
func (b *Browser) Open(method, path, body string, headers ...string) (Answer, error) {
	request, err := http.NewRequestWithContext(b.s.T.Context(), method, b.s.Public.BaseURL+path,
		strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	for name, value := range b.Cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := b.client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	for _, c := range response.Cookies() {
		if b.Cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.Cookies, c.Name)
		}
	}
	return Answer{response.StatusCode, response.Header, content}, err
}

// Depart begins a sign-in and gives the provider's address.
func (b *Browser) StartSignIn(path string) string {
	b.s.T.Helper()
	answer, err := b.Open(http.MethodGet, path, "")
	if err != nil || answer.Status != http.StatusFound {
		b.s.T.Fatalf("begin at %s: %d %s %v", path, answer.Status, answer.Body, err)
	}
	return answer.Header.Get("Location")
}

// SignInThere lets the person in at the provider, and gives the address that leads
// back: its path and query.
func (e *Provider) SignInThere(t *testing.T, address string, user mockoidc.User) string {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.QueueUser(user)
	response, err := RequestClient.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	back, err := url.Parse(response.Header.Get("Location"))
	if err != nil || back.Query().Get("code") == "" {
		text, _ := io.ReadAll(response.Body)
		t.Fatalf("the provider's page: %d %s", response.StatusCode, text)
	}
	return back.RequestURI()
}

// Arrive comes back as a program that wants its tokens.
func (b *Browser) FinishSignIn(back string) (SignedIn, error) {
	answer, err := b.Open(http.MethodGet, back, "", "Accept", "application/json")
	if err != nil {
		return SignedIn{}, err
	}
	var got SignedIn
	if answer.Status != http.StatusOK {
		refused := &client.Error{}
		if err := json.Unmarshal(answer.Body, refused); err != nil {
			return SignedIn{}, err
		}
		return SignedIn{}, refused
	}
	return got, json.Unmarshal(answer.Body, &got)
}

// SignedIn is the answer of a callback.
type SignedIn struct {
	client.SignIn
	LimitedTo *string `json:"limitedTo"`
	Status    string  `json:"status"`
}

// SignInAt goes all the way, in a new browser.
func (s *Server) SignInAt(e *Provider, path string, user mockoidc.User) (SignedIn, error) {
	s.T.Helper()
	b := s.Browser()
	return b.FinishSignIn(e.SignInThere(s.T, b.StartSignIn(path), user))
}

// MakeMember makes a person a member without an invitation.
func (s *Server) MakeMember(orgID, userID string, role principal.Role) {
	s.T.Helper()
	err := s.Database.Write(s.T.Context(), database.Change{Logs: []string{orgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return s.Organizations.Join(ctx, tx, principal.Operator(), orgID, userID, role)
	}})
	if err != nil {
		s.T.Fatalf("make a member: %v", err)
	}
}

// Limited is a person's client in a session that an organization's provider
// vouched for; the account is theirs and was linked by them.
func (s *Server) Limited(p *Person, orgID string, e *Provider) *client.Client {
	s.T.Helper()
	user := Someone("linked@corp.example")
	s.Link(p, orgID, e, user)
	in, err := s.SignInAt(e, "/auth/oidc/"+orgID, user)
	if err != nil {
		s.T.Fatalf("sign in with the provider: %v", err)
	}
	if in.User.ID != p.ID || in.LimitedTo == nil || *in.LimitedTo != orgID {
		s.T.Fatalf("signed in as %+v", in)
	}
	return s.Public.As(in.AccessToken)
}

// Link has a person link an identity to their account.
func (s *Server) Link(p *Person, orgID string, e *Provider, user mockoidc.User) {
	s.T.Helper()
	if got, err := s.TryLink(p, orgID, e, user); err != nil || got.Status != "linked" {
		s.T.Fatalf("link: %+v, %v", got, err)
	}
}

// TryLink has a person try to link an identity to their account.
func (s *Server) TryLink(p *Person, orgID string, e *Provider, user mockoidc.User) (SignedIn, error) {
	s.T.Helper()
	b := s.Browser()
	answer, err := b.Open(http.MethodPost, "/auth/identities", `{"organizationId":"`+orgID+`"}`,
		Credentials(p.Client)...)
	if err != nil || answer.Status != http.StatusOK {
		s.T.Fatalf("begin to link: %d %s %v", answer.Status, answer.Body, err)
	}
	var where struct{ URL string }
	if err := json.Unmarshal(answer.Body, &where); err != nil {
		s.T.Fatal(err)
	}
	return b.FinishSignIn(e.SignInThere(s.T, where.URL, user))
}
