package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpFloor is an MCP server of the official SDK with a tool that says what it is told.
func mcpFloor([]byte) (http.Handler, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: proxyServer, Version: "1"}, nil)
	type text struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says it again."}, func(
		_ context.Context, _ *mcp.CallToolRequest, in text,
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", serve)
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {}) // it is ready
	return mux, nil
}

// agentSession is a client's session with an MCP server. It is for one goroutine.
type agentSession struct {
	url, key, id string
	web          *http.Client
	sent         int
}

// openSession begins a session as clients do.
func openSession(ctx context.Context, web *http.Client, url, key string) (*agentSession, error) {
	s := &agentSession{url: url, key: key, web: web}
	begin := fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`,
		protocolOfProxy)
	if _, err := s.send(ctx, "initialize", begin); err != nil {
		return nil, err
	}
	return s, s.post(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, io.Discard)
}

// send sends a request and gives what came back, which is JSON or a stream of one event.
func (s *agentSession) send(ctx context.Context, method, params string) (string, error) {
	s.sent++
	var answer strings.Builder
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.sent, method, params)
	err := s.post(ctx, message, &answer)
	return answer.String(), err
}

func (s *agentSession) post(ctx context.Context, body string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentOfMessages)
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Mcp-Protocol-Version", protocolOfProxy)
	request.Header.Set("X-Api-Key", s.key)
	if s.id != "" {
		request.Header.Set("Mcp-Session-Id", s.id)
	}
	response, err := s.web.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s answers %s", s.url, response.Status)
	}
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		s.id = id
	}
	_, err = io.Copy(to, response.Body)
	return err
}

// echo calls the tool once.
func (s *agentSession) echo(ctx context.Context, tool string) error {
	answer, err := s.send(ctx, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"text":%q}}`, tool, echoed))
	if err == nil && !strings.Contains(answer, `"text":"`+echoed+`"`) {
		err = fmt.Errorf("the answer is %.300s", answer)
	}
	return err
}

// end ends the session.
func (s *agentSession) end(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-Api-Key", s.key)
	request.Header.Set("Mcp-Session-Id", s.id)
	response, err := s.web.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
