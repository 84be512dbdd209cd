package gateway

import (
	"context"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/toolname"
)

// complete completes an argument of a prompt or resource. Whoever could never get that is refused. What is left is
// decided about by policies, and recorded with what the server answered, as everything else that a server is sent. The
// plan says whether the prompt or resource may be got, and has no step for the keys that are pressed before.
func (s *session) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	params := *req.Params
	params.Meta = nil
	if params.Ref == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "ref: is required"}
	}
	ref := *params.Ref
	params.Ref = &ref
	of, tool, err := s.findCompleted(ctx, &ref)
	if err != nil {
		return nil, err
	}
	by := s.saidOf(req, req.Params.Meta)
	if err := s.refuseCompletion(ctx, by, of, tool); err != nil {
		return nil, err
	}
	arguments, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result, refused, err := carried[*sdk.CompleteResult](ctx, s, errand{
		req:       req,
		said:      by.unplanned(),
		server:    of,
		tool:      toolCompletion,
		arguments: arguments,
		send: func(ctx context.Context, of *offered, _ jsontext.Value) (result any, err error) {
			err = s.pass(ctx, of, func(ctx context.Context, up *sdk.ClientSession) (err error) {
				result, err = up.Complete(ctx, &params)
				return err
			})
			return result, err
		},
	})
	if refused != nil {
		return nil, refused.asError()
	}
	return result, err
}

// findCompleted is the server of what is completed, whose name becomes that server's own, and what policies see it as.
func (s *session) findCompleted(ctx context.Context, ref *sdk.CompleteReference) (of *offered, tool string, err error) {
	if ref.Type == "ref/prompt" {
		of, ref.Name, err = s.findPrompt(ctx, ref.Name)
		return of, toolPrompt, err
	}
	of, err = s.findResource(ctx, ref.URI)
	return of, toolResource, err
}

// refuseCompletion refuses whoever could never get a prompt or resource of a server.
func (s *session) refuseCompletion(ctx context.Context, by said, of *offered, tool string) error {
	asked := s.request(by)
	asked.CanOblige = false // nothing can be left out of what it completes
	seen, err := s.g.Decisions.Visible(ctx, s.caller, asked, []toolname.Name{{Server: of.Name, Tool: tool}})
	if err != nil || seen[0].Visible {
		return err
	}
	return &jsonrpc.Error{
		Code: codeDenied,
		Message: "a policy or the plan denies every " + of.Name + "." + tool +
			", or has something done with its results",
	}
}
