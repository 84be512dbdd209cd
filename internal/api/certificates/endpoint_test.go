package certificates_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
)

// mcpRequest sends a message to the MCP endpoint.
func (w *world) mcpRequest(by *client.Client, method, session, body string) *http.Response {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, by.BaseURL+"/proxy/mcp", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", by.APIKey)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		request.Header.Set("Mcp-Session-Id", session)
		request.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	response, err := by.HTTP.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { response.Body.Close() })
	return response
}

// TestSessionsOfTheEndpoint: a session that was opened with a certificate is of no use without it, and ends with it.
func TestSessionsOfTheEndpoint(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		made := w.issue(client.NewCertificate{AgentID: w.agent})
		certified, plain := w.with(pair(t, made), w.key.APIKey), w.Public.WithKey(w.key.APIKey)
		const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
			`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
		const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
		opened := w.mcpRequest(certified, http.MethodPost, "", hello)
		session := opened.Header.Get("Mcp-Session-Id")
		if opened.StatusCode != http.StatusOK || session == "" {
			body, _ := io.ReadAll(opened.Body)
			t.Fatalf("initialize: %d, %s", opened.StatusCode, body)
		}
		w.mcpRequest(certified, http.MethodPost, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if got := w.mcpRequest(certified, http.MethodPost, session, list); got.StatusCode != http.StatusOK {
			t.Errorf("with the certificate: %d", got.StatusCode)
		}
		if got := w.mcpRequest(plain, http.MethodPost, session, list); got.StatusCode != http.StatusNotFound {
			t.Errorf("without the certificate: %d, want no such session", got.StatusCode)
		}
		stream := w.mcpRequest(certified, http.MethodGet, session, "")
		if stream.StatusCode != http.StatusOK {
			t.Fatalf("the stream: %d", stream.StatusCode)
		}
		if _, err := w.Owner.RevokeCertificate(t.Context(), w.ID, made.CertificateID, "", "lost"); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(2*time.Minute, func() { stream.Body.Close() })
		_, _ = io.Copy(io.Discard, stream.Body) // until the server ends it
		if !late.Stop() {
			t.Error("the stream goes on after the certificate was revoked")
		}
		if got := w.mcpRequest(certified, http.MethodPost, session, list); got.StatusCode != http.StatusUnauthorized {
			t.Errorf("after it was revoked: %d", got.StatusCode)
		}
	})
}
