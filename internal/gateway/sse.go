package gateway

import (
	"context"
	"crypto/rand"
	"mime"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/fault"
	"writ/internal/principal"
)

// serveSSE serves a session of the SSE transport: it lives as long as this stream.
func (g *Gateway) serveSSE(w *patient, r *http.Request, caller principal.Principal, at place) error {
	id := rand.Text()
	s, err := g.open(r, caller, at, id)
	if err != nil {
		return err
	}
	defer s.close(errGone)
	defer s.use()()
	s.listen()
	ctx, cancel := s.outlasting(r.Context())
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	transport := &sdk.SSEServerTransport{
		Endpoint:            at.path + "?" + url.Values{sessionParameter: {id}}.Encode(),
		Response:            w,
		MaxRequestBodyBytes: g.MaxBodyBytes,
	}
	s.mu.Lock()
	s.sse = transport
	s.mu.Unlock()
	down, err := s.server.Connect(context.WithValue(ctx, sessionKey{}, s), counted{transport, s}, nil)
	if err != nil {
		return nil // the client is gone, or cannot be told
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = down.Wait()
	}()
	select {
	case <-ctx.Done():
	case <-ended:
	}
	s.close(errGone)
	_ = down.Close()
	return nil
}

// postSSE takes a message of a session of the SSE transport.
func (g *Gateway) postSSE(w *patient, r *http.Request, caller principal.Principal, at place, id string) error {
	s, err := g.sessions.find(id, caller, at)
	if err != nil {
		return err
	}
	s.mu.Lock()
	transport := s.sse
	s.mu.Unlock()
	if transport == nil {
		return fault.New(fault.NotFound, "the session is not one of the SSE transport: send its id as %s", sessionHeader)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fault.Field("Content-Type", "must be application/json")
	}
	defer s.use()()
	transport.ServeHTTP(w, r)
	return nil
}
