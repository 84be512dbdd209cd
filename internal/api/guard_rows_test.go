package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/guard"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testserver"
)

// byProxy are the headers of a proxy that works for an agent.
func byProxy(key string) http.Header {
	h := testserver.WithBearer(testserver.ProxyToken)
	h.Set("Writ-On-Behalf-Of", key)
	return h
}

// reportToken is the token of every decision that someDecision stores.
const reportToken = "prt_of-a-test"

// someDecision stores a decision that a proxy has asked for.
func someDecision(s *testserver.Server, by principal.Principal, server client.MCPServer) string {
	s.T.Helper()
	d := guard.Decision{
		ID:         database.NewID(),
		OrgID:      by.OrgID,
		KeyID:      by.KeyID,
		UserID:     by.UserID,
		Verdict:    "allow",
		ServerID:   server.MCPID,
		Server:     server.Name,
		Registered: server.UpdatedAt,
		ReportHash: secret.Hash(reportToken),
	}
	err := s.Database.Write(s.T.Context(), database.Change{
		Logs: []string{audit.LogOf(by.OrgID)},
		Do:   func(ctx context.Context, tx *database.Tx) error { return s.Guard.Record(ctx, tx, d) },
	})
	if err != nil {
		s.T.Fatalf("store a decision of a proxy: %v", err)
	}
	return d.ID
}

// guardTenant gives the tenant what proxies ask for.
func guardTenant(s *testserver.Server, w *tenant) map[string]map[string]string {
	s.T.Helper()
	by, err := s.Keys.Resolve(s.T.Context(), w.agentSecret)
	if err != nil {
		s.T.Fatal(err)
	}
	decision := someDecision(s, by, client.MCPServer{})
	w.private = append(w.private, decision)
	return map[string]map[string]string{
		"GET /proxy/guard/decisions/{decisionId}/obligations": {"decisionId": decision},
		"POST /proxy/guard/decisions/{decisionId}/secret":     {"decisionId": decision},
		"POST /proxy/guard/decisions/{decisionId}/outcome":    {"decisionId": decision},
		"GET /proxy/guard/approvals/{approvalId}":             {"approvalId": w.approval},
	}
}

// proxied is a client of a proxy that works for an agent.
type proxied struct {
	key   string
	token string // of a report
	next  http.RoundTripper
}

func (p proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Writ-On-Behalf-Of", p.key)
	r.Header.Set("Writ-Report-Token", p.token)
	return p.next.RoundTrip(r)
}

// proxyOf is the client of a proxy that works for an agent.
func (w *changes) proxyOf(agent *client.Client) *client.Client {
	c := *w.Public
	c.AccessToken = testserver.ProxyToken
	c.HTTP = &http.Client{Transport: proxied{agent.APIKey, reportToken, w.Public.HTTP.Transport}}
	return &c
}

func (w *changes) guardScenarios() map[string]scenario {
	return map[string]scenario{
		"POST /proxy/guard/visible":                        w.askVisible,
		"POST /proxy/guard/decisions":                      w.decideByProxy,
		"POST /proxy/guard/decisions/{decisionId}/secret":  w.releaseSecret,
		"POST /proxy/guard/decisions/{decisionId}/outcome": w.reportByProxy,
	}
}

func (w *changes) askVisible() func(context.Context) (string, error) {
	proxy := w.proxyOf(w.agent())
	return inLog(w.org, func(ctx context.Context) error {
		body := map[string]any{"tools": []map[string]string{{"server": "bank", "tool": "pay"}}}
		return proxy.Call(ctx, http.MethodPost, "/proxy/guard/visible", nil, body, nil)
	})
}

func (w *changes) decideByProxy() func(context.Context) (string, error) {
	agent := w.agent()
	w.firstDecision(agent)
	proxy := w.proxyOf(agent)
	return inLog(w.org, func(ctx context.Context) error {
		var d client.Decision
		err := proxy.Call(ctx, http.MethodPost, "/proxy/guard/decisions", nil,
			map[string]any{"server": "bank", "tool": "pay", "arguments": "{}"}, &d)
		return decided(d, err)
	})
}

func (w *changes) releaseSecret() func(context.Context) (string, error) {
	agent := w.agent()
	by, err := w.Keys.Resolve(w.T.Context(), agent.APIKey)
	if err != nil {
		w.T.Fatal(err)
	}
	made, err := w.owner.RegisterMCPServer(w.T.Context(), w.org, client.NewMCPServer{
		Name: "server-" + database.NewID(), URL: "https://mcp.invalid/mcp",
		Auth: &client.MCPAuth{Type: "bearer", Token: "s3cret-of-a-server"},
	})
	if err != nil {
		w.T.Fatal(err)
	}
	id, proxy := someDecision(w.Server, by, made), w.proxyOf(agent)
	return inLog(w.org, func(ctx context.Context) error {
		return proxy.Call(ctx, http.MethodPost, "/proxy/guard/decisions/"+id+"/secret", nil, nil, nil)
	})
}

func (w *changes) reportByProxy() func(context.Context) (string, error) {
	agent := w.agent()
	w.firstDecision(agent)
	by, err := w.Keys.Resolve(w.T.Context(), agent.APIKey)
	if err != nil {
		w.T.Fatal(err)
	}
	id, proxy := someDecision(w.Server, by, client.MCPServer{Name: "bank"}), w.proxyOf(agent)
	return inLog(w.org, func(ctx context.Context) error {
		return proxy.Call(ctx, http.MethodPost, "/proxy/guard/decisions/"+id+"/outcome", nil, map[string]any{
			"server": "bank", "tool": "pay", "step": -1, "arguments": json.RawMessage(`"{}"`), "status": "success",
			"at": time.Now().UTC(), "durationNs": 1000,
		}, nil)
	})
}
