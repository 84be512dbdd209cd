package upstream

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Session is an MCP session with one server. It is safe for concurrent use.
type Session struct {
	dialer  *Dialer
	name    string
	web     *web
	client  *mcp.ClientSession
	timeout time.Duration
	end     context.CancelFunc // ends what runs in the session
}

// Client is the session as the SDK knows it. What is asked through it directly has the session's limits of bytes, and
// only those of time that the caller sets: see [Session.Ask].
func (s *Session) Client() *mcp.ClientSession { return s.client }

// Listen opens the stream of a session that was to open it later. The next calls wait for it.
func (s *Session) Listen() {
	if s.web.standing != nil {
		s.web.standing.listen()
	}
}

// CallTool calls a tool, once. The error is a *Failure.
func (s *Session) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	var result *mcp.CallToolResult
	err := s.Ask(ctx, func(ctx context.Context) (err error) {
		result, err = s.client.CallTool(ctx, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Ask asks the server something within the session's limits. do uses the SDK's session with the context that it is
// given. The error is a *Failure.
func (s *Session) Ask(ctx context.Context, do func(ctx context.Context) error) error {
	call := &call{}
	bounded, cancel := context.WithTimeout(withCall(ctx, call), s.timeout)
	defer cancel()
	s.web.standing.await(bounded)
	err := do(bounded)
	if err == nil {
		s.web.order.settle(bounded)
		return nil
	}
	return s.explain(bounded, err, call)
}

// Close ends the session and tells the server so. It waits no longer than a few seconds.
func (s *Session) Close() error {
	timer := time.AfterFunc(closeTimeout, s.end)
	defer timer.Stop()
	defer s.end()
	err := s.client.Close()
	if errors.Is(err, context.Canceled) {
		return nil // the server was not told, and forgets the session by itself
	}
	return err
}

// End closes the session behind the caller's back.
func (s *Session) End() { s.dialer.ending.Go(func() { _ = s.Close() }) }

// Wait returns when the session has ended: it was closed, or the server has broken it.
func (s *Session) Wait() { _ = s.client.Wait() }
