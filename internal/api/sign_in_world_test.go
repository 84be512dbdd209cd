package api_test

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

// idp is an identity provider on this machine.
type idp struct {
	*mockoidc.MockOIDC
	mu sync.Mutex // guards the queue of who comes next
}

// newIDP starts one whose requests wait for each other: it keeps its sessions in a
// map that it does not guard, and tests of both databases share it.
func newIDP(t *testing.T) *idp {
	t.Helper()
	var mu sync.Mutex
	return newIDPWith(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
}

// newIDPWith starts one with a handler around each of its own.
func newIDPWith(t *testing.T, around func(http.Handler) http.Handler) *idp {
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
	return &idp{MockOIDC: server}
}

// permitLoopback lets the server call providers on this machine.
var permitLoopback = []string{"WRIT_OUTBOUND_ALLOW", "127.0.0.0/8"}

// asGoogle are the settings that make this provider Google.
func (e *idp) asGoogle() []string {
	return append([]string{
		"WRIT_GOOGLE_CLIENT_ID", e.ClientID, "WRIT_GOOGLE_CLIENT_SECRET", e.ClientSecret, "WRIT_GOOGLE_ISSUER",
		e.Issuer(),
	}, permitLoopback...)
}

// settings set it up as the provider of an organization.
func (e *idp) settings(domains ...string) client.ProviderSettings {
	return client.ProviderSettings{
		Issuer:       e.Issuer(),
		ClientID:     e.ClientID,
		ClientSecret: e.ClientSecret,
		Domains:      domains,
		DefaultRole:  "member",
	}
}

// provider has an organization use it.
func (s *server) provider(owner *person, orgID string, e *idp, domains ...string) {
	s.t.Helper()
	if _, err := owner.SetIdentityProvider(s.t.Context(), orgID, e.settings(domains...)); err != nil {
		s.t.Fatalf("set the identity provider up: %v", err)
	}
}

// someone is a person as a provider knows them.
func someone(email string) *mockoidc.MockUser {
	return &mockoidc.MockUser{Subject: database.NewID(), Email: email, EmailVerified: true}
}

// browser keeps cookies and shows redirects.
type browser struct {
	s       *server
	client  *http.Client
	cookies map[string]string
}

func (s *server) browser() *browser {
	transport := http.DefaultTransport
	if s.public.HTTP != nil {
		transport = s.public.HTTP.Transport
	}
	return &browser{s: s, cookies: map[string]string{}, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// open sends a request to our server. Headers come in pairs.
func (b *browser) open(method, path, body string, headers ...string) (wireAnswer, error) {
	request, err := http.NewRequestWithContext(b.s.t.Context(), method, b.s.public.BaseURL+path,
		strings.NewReader(body))
	if err != nil {
		return wireAnswer{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	for name, value := range b.cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := b.client.Do(request)
	if err != nil {
		return wireAnswer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	for _, c := range response.Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return wireAnswer{response.StatusCode, response.Header, content}, err
}

// depart begins a sign-in and gives the provider's address.
func (b *browser) depart(path string) string {
	b.s.t.Helper()
	answer, err := b.open(http.MethodGet, path, "")
	if err != nil || answer.status != http.StatusFound {
		b.s.t.Fatalf("begin at %s: %d %s %v", path, answer.status, answer.body, err)
	}
	return answer.header.Get("Location")
}

// signInThere lets the person in at the provider, and gives the address that leads
// back: its path and query.
func (e *idp) signInThere(t *testing.T, address string, user mockoidc.User) string {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.QueueUser(user)
	response, err := wireClient.Get(address)
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

// arrive comes back as a program that wants its tokens.
func (b *browser) arrive(back string) (signedIn, error) {
	answer, err := b.open(http.MethodGet, back, "", "Accept", "application/json")
	if err != nil {
		return signedIn{}, err
	}
	var got signedIn
	if answer.status != http.StatusOK {
		refused := &client.Error{}
		if err := json.Unmarshal(answer.body, refused); err != nil {
			return signedIn{}, err
		}
		return signedIn{}, refused
	}
	return got, json.Unmarshal(answer.body, &got)
}

// signedIn is the answer of a callback.
type signedIn struct {
	client.SignIn
	LimitedTo *string `json:"limitedTo"`
	Status    string  `json:"status"`
}

// signInAt goes all the way, in a new browser.
func (s *server) signInAt(e *idp, path string, user mockoidc.User) (signedIn, error) {
	s.t.Helper()
	b := s.browser()
	return b.arrive(e.signInThere(s.t, b.depart(path), user))
}

// makeMember makes a person a member without an invitation.
func (s *server) makeMember(orgID, userID string, role principal.Role) {
	s.t.Helper()
	err := s.Database.Write(s.t.Context(), database.Change{Logs: []string{orgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return s.Organizations.Join(ctx, tx, principal.Operator(), orgID, userID, role)
	}})
	if err != nil {
		s.t.Fatalf("make a member: %v", err)
	}
}

// limited is a person's client in a session that an organization's provider
// vouched for; the account is theirs and was linked by them.
func (s *server) limited(p *person, orgID string, e *idp) *client.Client {
	s.t.Helper()
	user := someone("linked@corp.example")
	s.link(p, orgID, e, user)
	in, err := s.signInAt(e, "/auth/oidc/"+orgID, user)
	if err != nil {
		s.t.Fatalf("sign in with the provider: %v", err)
	}
	if in.User.ID != p.ID || in.LimitedTo == nil || *in.LimitedTo != orgID {
		s.t.Fatalf("signed in as %+v", in)
	}
	return s.public.As(in.AccessToken)
}

// link has a person link an identity to their account.
func (s *server) link(p *person, orgID string, e *idp, user mockoidc.User) {
	s.t.Helper()
	if got, err := s.tryLink(p, orgID, e, user); err != nil || got.Status != "linked" {
		s.t.Fatalf("link: %+v, %v", got, err)
	}
}

func (s *server) tryLink(p *person, orgID string, e *idp, user mockoidc.User) (signedIn, error) {
	s.t.Helper()
	b := s.browser()
	answer, err := b.open(http.MethodPost, "/auth/identities", `{"organizationId":"`+orgID+`"}`,
		credentials(p.Client)...)
	if err != nil || answer.status != http.StatusOK {
		s.t.Fatalf("begin to link: %d %s %v", answer.status, answer.body, err)
	}
	var where struct{ URL string }
	if err := json.Unmarshal(answer.body, &where); err != nil {
		s.t.Fatal(err)
	}
	return b.arrive(e.signInThere(s.t, where.URL, user))
}
