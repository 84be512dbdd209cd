package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// offerOne registers what a request of the stateless protocol is about, so that the SDK answers it in the forms of that
// protocol.
func (s *session) offerOne(m *message) {
	switch m.method {
	case methodCallTool:
		s.server.AddTool(&sdk.Tool{Name: m.params.Name, InputSchema: emptySchema}, s.callTool)
	case methodGetPrompt:
		s.server.AddPrompt(&sdk.Prompt{Name: m.params.Name}, s.getPrompt)
	case methodReadResource:
		if _, err := url.Parse(m.params.URI); err == nil {
			s.server.AddResource(&sdk.Resource{URI: m.params.URI, Name: m.params.URI}, s.readResource)
		}
	}
}

// findTool is the tool that the client means. It is looked for in what there was when the request came: whether it may
// be called, and of the server as it is registered now, is for the decision.
func (s *session) findTool(ctx context.Context, req sdk.Request, name string) (tool *offeredTool, err error) {
	var all *catalogue
	if e := exchangeOf(req); e != nil {
		all = e.offers
	}
	if all == nil {
		if all, err = s.g.catalogueFor(ctx, s.caller); err != nil {
			return nil, err
		}
	}
	if s.one == "" {
		tool = all.tools[name]
	} else if of, err := s.onlyOf(all); err != nil {
		return nil, err
	} else {
		tool = of.tool(name)
	}
	if tool == nil || strings.HasPrefix(tool.Name, reservedPrefix) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
	}
	return tool, nil
}

// callTool has a call judged and carried out.
func (s *session) callTool(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	p := req.Params
	return inRounds(ctx, s, round{
		method:    methodCallTool,
		subject:   p.Name,
		arguments: p.Arguments,
		said:      s.saidOf(req, p.Meta),
		answers:   p.InputResponses,
		state:     p.RequestState,
	}, func(ctx context.Context) (*sdk.CallToolResult, error) {
		return s.callOnce(ctx, req)
	}, func(questions sdk.InputRequestMap, state string) *sdk.CallToolResult {
		return &sdk.CallToolResult{InputRequests: questions, RequestState: state}
	})
}

func (s *session) callOnce(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	tool, err := s.findTool(ctx, req, req.Params.Name)
	if err != nil {
		return nil, err
	}
	result, refused, err := carried[*sdk.CallToolResult](ctx, s, errand{
		req:       req,
		said:      s.saidOf(req, req.Params.Meta),
		token:     req.Params.GetProgressToken(),
		server:    tool.of,
		tool:      tool.Name,
		arguments: req.Params.Arguments,
		send: func(ctx context.Context, of *offered, arguments jsontext.Value) (any, error) {
			return s.sendCall(ctx, of, tool.Name, req.Params, arguments)
		},
	})
	switch {
	case refused != nil:
		return refused.asResult(), nil
	case err != nil:
		return nil, err
	}
	return result, nil
}

// sendCall calls the tool. Of what the client sent only the arguments go on: _meta is ours.
func (s *session) sendCall(
	ctx context.Context, of *offered, tool string, sent *sdk.CallToolParamsRaw, arguments jsontext.Value,
) (result *sdk.CallToolResult, err error) {
	l, err := s.link(ctx, of)
	if err != nil {
		return nil, err
	}
	err = l.ask(ctx, sent.GetProgressToken(), func(ctx context.Context, up *sdk.ClientSession, token any) (err error) {
		params := &sdk.CallToolParams{Name: tool}
		if len(arguments) > 0 {
			params.Arguments = json.RawMessage(arguments)
		}
		if token != nil {
			params.Meta = sdk.Meta{"progressToken": token}
		}
		result, err = up.CallTool(ctx, params)
		return err
	})
	return result, err
}
