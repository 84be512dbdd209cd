package upstream

import (
	"context"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errNothing: the SDK reads null where a server must put a part of its answer, and hands over nil. Whoever reads on
// panics, here and in the programs of clients.
var errNothing = errors.New("a part of the answer is null")

// refuseNothing refuses answers with parts that are null, as it refuses all that cannot be read. The SDK refuses them
// itself among the contents of tools and leaves them out of lists of tools.
func refuseNothing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if err == nil && hasNothing(result) {
			return nil, errNothing
		}
		return result, err
	}
}

func hasNothing(result mcp.Result) bool {
	switch r := result.(type) {
	case *mcp.GetPromptResult:
		return slices.Contains(r.Messages, nil)
	case *mcp.ReadResourceResult:
		return slices.Contains(r.Contents, nil)
	case *mcp.ListPromptsResult:
		return slices.ContainsFunc(r.Prompts, func(p *mcp.Prompt) bool {
			return p == nil || slices.Contains(p.Arguments, nil)
		})
	case *mcp.ListResourcesResult:
		return slices.Contains(r.Resources, nil)
	case *mcp.ListResourceTemplatesResult:
		return slices.Contains(r.ResourceTemplates, nil)
	}
	return false
}
