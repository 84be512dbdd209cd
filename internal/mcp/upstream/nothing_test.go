package upstream_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/upstream"
)

// TestPartsThatAreNothingAreRefused asks a server that puts null into every list.
func TestPartsThatAreNothingAreRefused(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "nothing", Version: "1"}, nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case "prompts/get":
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil}}, nil
			case "resources/read":
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}, nil
			case "prompts/list":
				if p, _ := req.GetParams().(*mcp.ListPromptsParams); p != nil && p.Cursor == "arguments" {
					prompt := &mcp.Prompt{Name: "p", Arguments: []*mcp.PromptArgument{nil}}
					return &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{prompt}}, nil
				}
				return &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{nil}}, nil
			case "resources/list":
				return &mcp.ListResourcesResult{Resources: []*mcp.Resource{nil}}, nil
			case "resources/templates/list":
				return &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{nil}}, nil
			case "tools/call":
				return &mcp.CallToolResult{Content: []mcp.Content{nil}}, nil
			}
			return next(ctx, method, req)
		}
	})
	url := serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	s, err := loopback(t).Dial(t.Context(), upstream.Target{Name: "nothing", URL: url}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.End()
	up := s.Client()
	for what, ask := range map[string]func(ctx context.Context) (any, error){
		"a prompt": func(ctx context.Context) (any, error) {
			return up.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"})
		},
		"a resource": func(ctx context.Context) (any, error) {
			return up.ReadResource(ctx, &mcp.ReadResourceParams{URI: "a:b"})
		},
		"prompts": func(ctx context.Context) (any, error) { return up.ListPrompts(ctx, nil) },
		"arguments": func(ctx context.Context) (any, error) {
			return up.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: "arguments"})
		},
		"resources": func(ctx context.Context) (any, error) { return up.ListResources(ctx, nil) },
		"templates": func(ctx context.Context) (any, error) { return up.ListResourceTemplates(ctx, nil) },
		"a call":    func(ctx context.Context) (any, error) { return up.CallTool(ctx, &mcp.CallToolParams{Name: "t"}) },
	} {
		err := s.Ask(t.Context(), func(ctx context.Context) error {
			_, err := ask(ctx)
			return err
		})
		f, ok := errors.AsType[*upstream.Failure](err)
		if !ok || f.Kind != upstream.Broken || !f.Sent || f.Reason != "it does not answer as an MCP server does" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
