package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// startAuthority serves an MCP server with an OAuth of its own, which gives tokens to whoever asks.
func startAuthority(s *testserver.Server) string {
	s.T.Helper()
	var live *httptest.Server
	live = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := live.URL
		answers := map[string]m{
			"/.well-known/oauth-protected-resource/mcp": {
				"resource": at + "/mcp", "authorization_servers": []string{at},
			},
			"/.well-known/oauth-authorization-server": {
				"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token",
				"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
			},
			"/token": {"access_token": "t0ken", "token_type": "Bearer"},
		}
		w.Header().Set("Content-Type", "application/json")
		if answers[r.URL.Path] == nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_ = json.NewEncoder(w).Encode(answers[r.URL.Path])
	}))
	s.T.Cleanup(live.Close)
	return live.URL + "/mcp"
}

// consentingServer registers an MCP server with an OAuth of its own.
func consentingServer(s *testserver.Server, p *testserver.Person, org string) string {
	s.T.Helper()
	made, err := p.RegisterMCPServer(s.T.Context(), org, client.NewMCPServer{
		Name: "server-" + database.NewID(), URL: startAuthority(s),
		Auth: &client.MCPAuth{Type: "oauth", ClientID: "writ"},
	})
	if err != nil {
		s.T.Fatalf("register an MCP server: %v", err)
	}
	return made.MCPID
}

// beginConnection begins to connect, and gives the state.
func beginConnection(ctx context.Context, p *testserver.Person, org, server string) (state string, err error) {
	var begun struct {
		AuthorizeURL string `json:"authorizeUrl"`
	}
	err = p.Call(ctx, http.MethodPost, "/organization/"+org+"/connections", nil, m{"server": server}, &begun)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(begun.AuthorizeURL)
	return u.Query().Get("state"), err
}

// someConnection is the id of a connection of a person.
func someConnection(s *testserver.Server, p *testserver.Person, org string) string {
	s.T.Helper()
	id := database.NewID()
	s.Insert(`
		INSERT INTO mcp_connection (id, org_id, user_id, server_id, url, resource, issuer, token_url, revocation_url,
			client_id, client_method, scope, sealed, refreshing_until, revision, created_at)
		VALUES ($1, $2, $3, $4, '', '', 'https://far.example.org', '', '', 'writ', 'none', '', $5, 0, 1, $6)`,
		id, org, p.ID, someServer(s, p, org).MCPID, []byte("sealed"), database.Micros(s.Database.Now()))
	return id
}

// connectTenant gives a tenant a connection.
func connectTenant(s *testserver.Server, w *tenant) map[string]map[string]string {
	s.T.Helper()
	id := someConnection(s, w.owner, w.org)
	w.private = append(w.private, id)
	return map[string]map[string]string{
		"DELETE /organization/{orgId}/connections/{connectionId}": {"connectionId": id},
	}
}

func (w *changes) connectionScenarios() map[string]scenario {
	return map[string]scenario{
		"POST /organization/{orgId}/connections":                  w.startConnection,
		"POST /connections/finish":                                w.finishConnection,
		"DELETE /organization/{orgId}/connections/{connectionId}": w.endConnection,
	}
}

func (w *changes) startConnection() func(context.Context) (string, error) {
	server := consentingServer(w.Server, w.owner, w.org)
	return inLog("", func(ctx context.Context) error {
		_, err := beginConnection(ctx, w.owner, w.org, server)
		return err
	})
}

func (w *changes) finishConnection() func(context.Context) (string, error) {
	state, err := beginConnection(w.T.Context(), w.owner, w.org, consentingServer(w.Server, w.owner, w.org))
	if err != nil {
		w.T.Fatalf("begin to connect: %v", err)
	}
	return inLog(w.org, func(ctx context.Context) error {
		return w.owner.Call(ctx, http.MethodPost, "/connections/finish", nil, m{"state": state, "code": "good"}, nil)
	})
}

func (w *changes) endConnection() func(context.Context) (string, error) {
	id := someConnection(w.Server, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		return w.owner.Call(ctx, http.MethodDelete, "/organization/"+w.org+"/connections/"+id, nil, nil, nil)
	})
}

// connectionRoleCases: who may have keys connects; everybody sees and ends their own connections, and what others have
// is for people who manage servers.
func connectionRoleCases() []roleCase {
	var others struct{ org, server string }
	prepare := func(s *testserver.Server, org string) {
		if others.org != org {
			owner := s.Person("connecting")
			s.PutMember(org, owner.ID, "owner")
			others.org, others.server = org, consentingServer(s, owner, org)
		}
	}
	return []roleCase{
		{"POST /organization/{orgId}/connections", "begin", keyHolders, 403,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				prepare(s, org)
				_, err := beginConnection(ctx, p, org, others.server)
				return err
			}},
		{"GET /organization/{orgId}/connections", "list", anyRole, 0,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				return p.Call(ctx, http.MethodGet, "/organization/"+org+"/connections", nil, nil, nil)
			}},
		{"DELETE /organization/{orgId}/connections/{connectionId}", "another's", managers, 404,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				owner := s.Person("connecting")
				s.PutMember(org, owner.ID, "owner")
				id := someConnection(s, owner, org)
				return p.Call(ctx, http.MethodDelete, "/organization/"+org+"/connections/"+id, nil, nil, nil)
			}},
	}
}
