package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"writ/client"
	"writ/internal/database"
)

func (w *changes) proxyScenarios() map[string]scenario {
	type change = func(context.Context) (string, error)
	return map[string]scenario{
		"POST /proxy/mcp":           func() change { return w.listByProxy("") },
		"POST /proxy/mcp/{mcpId}":   func() change { return w.listByProxy(w.farServer()) },
		"DELETE /proxy/mcp":         func() change { return w.endByProxy("") },
		"DELETE /proxy/mcp/{mcpId}": func() change { return w.endByProxy(w.farServer()) },
	}
}

// farServer is a registered server with an address, which nobody reaches, as a part of a path.
func (w *changes) farServer() string {
	w.T.Helper()
	made, err := w.owner.RegisterMCPServer(w.T.Context(), w.org, client.NewMCPServer{
		Name: "server-" + database.NewID(), URL: "https://mcp.invalid/mcp",
	})
	if err != nil {
		w.T.Fatalf("register an MCP server: %v", err)
	}
	return "/" + made.MCPID
}

// toProxy sends a request to the MCP endpoint.
func (w *changes) toProxy(
	ctx context.Context, key, method, path, body string, headers ...string,
) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.Public.BaseURL+"/proxy/mcp"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := w.Public.HTTP.Do(r)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("status %d", answer.StatusCode)
	}
	return answer, err
}

// listByProxy lists tools by the protocol without sessions.
func (w *changes) listByProxy(path string) func(context.Context) (string, error) {
	key := w.AgentKey(w.owner, w.org).APIKey
	return inLog(w.org, func(ctx context.Context) error {
		answer, err := w.toProxy(ctx, key, http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{
			"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
				"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},
				"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list")
		if answer != nil {
			_ = answer.Body.Close()
		}
		return err
	})
}

// endByProxy ends a session that it has opened.
func (w *changes) endByProxy(path string) func(context.Context) (string, error) {
	key := w.AgentKey(w.owner, w.org).APIKey
	stream, err := w.toProxy(w.T.Context(), key, http.MethodGet, path, "")
	if err != nil {
		w.T.Fatalf("open a session: %v", err)
	}
	w.T.Cleanup(func() { _ = stream.Body.Close() })
	id := ""
	for lines := bufio.NewScanner(stream.Body); id == "" && lines.Scan(); {
		if _, query, ok := strings.Cut(lines.Text(), "?"); ok {
			if values, err := url.ParseQuery(query); err == nil {
				id = values.Get("sessionid")
			}
		}
	}
	return inLog(w.org, func(ctx context.Context) error {
		answer, err := w.toProxy(ctx, key, http.MethodDelete, path, "", "Mcp-Session-Id", id)
		if answer != nil {
			_ = answer.Body.Close()
		}
		return err
	})
}
