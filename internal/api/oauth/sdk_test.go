package oauth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	oauthapi "writ/internal/api/oauth"
	"writ/internal/fault"
)

// startProtected serves MCP where the proxy will be, for callers with a token alone. Its tool says who calls.
func startProtected(t *testing.T, f *flow) *httptest.Server {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "protected", Version: "1"}, nil)
	type none struct{}
	type key struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "whoami", Description: "Says who calls."}, func(
		ctx context.Context, _ *mcp.CallToolRequest, _ none,
	) (*mcp.CallToolResult, none, error) {
		who, _ := ctx.Value(key{}).(string)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: who}}}, none{}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, DisableLocalhostProtection: true})
	protected := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		granted, challenge, err := oauthapi.Admit(f.OAuth, r, "")
		if err != nil {
			if challenge != "" {
				w.Header().Set("WWW-Authenticate", challenge)
			}
			status := http.StatusUnauthorized
			if fault.Is(err, fault.Forbidden) {
				status = http.StatusForbidden
			}
			http.Error(w, err.Error(), status)
			return
		}
		who := granted.Caller.OrgID + " " + granted.AgentID
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, who)))
	}))
	t.Cleanup(protected.Close)
	return protected
}

// split sends requests to the proxy's address to the protected server, and all others to Writ.
type split struct{ proxy string }

func (s split) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/proxy/mcp") {
		r = r.Clone(r.Context())
		r.URL.Host = s.proxy
	}
	return http.DefaultTransport.RoundTrip(r)
}

// page answers as the consent page does, by the address that the browser is sent to.
func (f *flow) page(ctx context.Context, authorize string) (url.Values, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, authorize, nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := browser.Do(request)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	at, err := response.Location()
	if err != nil || at.Path != "/ui/consent" {
		return nil, fmt.Errorf("the browser is sent to %v, %w", at, err)
	}
	query := at.Query().Get("request")
	var asked struct {
		ClientName    string `json:"clientName"`
		RedirectHost  string `json:"redirectHost"`
		Organizations []struct {
			ID     string `json:"id"`
			Agents []struct {
				AgentID string `json:"agentId"`
			} `json:"agents"`
		} `json:"organizations"`
	}
	err = f.owner.Call(ctx, http.MethodGet, "/oauth/request", url.Values{"request": {query}}, nil, &asked)
	if err != nil {
		return nil, err
	}
	if asked.ClientName != "SDK" || asked.RedirectHost != "127.0.0.1:4711" || len(asked.Organizations) != 1 {
		return nil, fmt.Errorf("the page shows %+v", asked)
	}
	org := asked.Organizations[0]
	to, err := f.tryApprove(f.owner, query, org.ID, org.Agents[0].AgentID)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	return u.Query(), nil
}

// TestTheSDKsClientGetsIn goes with the Go SDK's client from a 401 to a call, and again when its token has expired.
func TestTheSDKsClientGetsIn(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f *flow) {
		ctx := t.Context()
		protected := startProtected(t, f)
		through := &http.Client{Transport: split{strings.TrimPrefix(protected.URL, "http://")}}
		asked, issuer := 0, atomic.Pointer[string]{}
		handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
			DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
				Metadata: &oauthex.ClientRegistrationMetadata{
					ClientName: "SDK", RedirectURIs: []string{redirect},
					GrantTypes: []string{"authorization_code", "refresh_token"},
				},
			},
			RedirectURL: redirect,
			Client:      through,
			AuthorizationCodeFetcher: func(
				ctx context.Context, args *auth.AuthorizationArgs,
			) (*auth.AuthorizationResult, error) {
				asked++
				values, err := f.page(ctx, args.URL)
				if err != nil {
					return nil, err
				}
				iss := values.Get("iss")
				if other := issuer.Load(); other != nil {
					iss = *other
				}
				return &auth.AuthorizationResult{Code: values.Get("code"), State: values.Get("state"), Iss: iss}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		connect := func() (*mcp.ClientSession, error) {
			return mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, nil).Connect(ctx,
				&mcp.StreamableClientTransport{
					Endpoint:     f.OAuth.Resource(""),
					HTTPClient:   through,
					OAuthHandler: handler,
				},
				nil)
		}
		// Another server's answer is not taken for ours: the client sees its issuer.
		other := "https://evil.example.org"
		issuer.Store(&other)
		if session, err := connect(); err == nil || !strings.Contains(err.Error(), "issuer") {
			t.Fatalf("with a mixed-up issuer: %v, %v", session, err)
		}
		issuer.Store(nil)
		asked = 0
		session, err := connect()
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		defer session.Close()
		whoami := func() string {
			t.Helper()
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "whoami"})
			if err != nil {
				t.Fatalf("call: %v", err)
			}
			text, err := json.Marshal(result.Content)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		if who := whoami(); !strings.Contains(who, f.org+" "+f.agent) {
			t.Errorf("the tool is called by %s", who)
		}
		if asked != 1 {
			t.Errorf("the person was asked %d times, want once", asked)
		}
		f.Advance(11 * time.Minute) // of the server alone: the client believes that its token is good
		if who := whoami(); !strings.Contains(who, f.org+" "+f.agent) || asked != 2 {
			t.Errorf("with an expired token the tool is called by %s, and the person was asked %d times", who, asked)
		}
	})
}
