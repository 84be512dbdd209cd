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

	"writ/internal/carrier"
	"writ/internal/enforcement"
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

// findTool is the tool that the client means; nil: none is listed under this name. It is looked for in what there was
// when the request came, which all is: whether it may be called, and of the server as it is registered now, is for the
// decision.
func (s *session) findTool(
	ctx context.Context, req sdk.Request, name string,
) (tool *offeredTool, all *catalogue, err error) {
	if e := exchangeOf(req); e != nil {
		all = e.offers
	}
	if all == nil {
		if all, err = s.g.catalogueFor(ctx, s.caller); err != nil {
			return nil, nil, err
		}
	}
	if s.one == "" {
		tool = all.tools[name]
	} else if of, err := s.onlyOf(all); err != nil {
		return nil, nil, err
	} else {
		tool = of.tool(name)
	}
	if tool != nil && strings.HasPrefix(tool.Name, reservedPrefix) {
		tool = nil
	}
	return tool, all, nil
}

// refuseUnknown records the call of a tool that is not listed, so that whoever tries names leaves a trace. The error
// is the one that clients know for it, with the decision as its data.
func (s *session) refuseUnknown(ctx context.Context, req *sdk.CallToolRequest, all *catalogue) error {
	name := req.Params.Name
	request := s.request(s.saidOf(req, req.Params.Meta))
	request.Tool, request.Arguments = name, req.Params.Arguments
	problem := "no MCP server that this agent reaches has such a tool"
	if of := s.meant(all, name); of != nil {
		request.Server, problem = of.Name, of.lacksTool()
		if s.one == "" {
			request.Tool = strings.TrimPrefix(name, of.Name+separator)
		}
	}
	decided := &refused{s.g.Carrier.Refuse(ctx, carrier.Caller{Principal: s.caller}, carrier.Call{
		Request: request, Proof: enforcement.Carried{ProofRequired: enforcement.ProofOptional},
	}, problem)}
	return &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name), Data: decided.data(),
	}
}

// meant is the server that the place of the session or the beginning of a name says; nil: none.
func (s *session) meant(all *catalogue, name string) (found *offered) {
	if s.one != "" {
		return all.byID[s.one]
	}
	for _, of := range all.servers {
		if strings.HasPrefix(name, of.Name+separator) && (found == nil || len(of.Name) > len(found.Name)) {
			found = of
		}
	}
	return found
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
	tool, all, err := s.findTool(ctx, req, req.Params.Name)
	if err != nil {
		return nil, err
	}
	if tool == nil {
		return nil, s.refuseUnknown(ctx, req, all)
	}
	result, refused, err := carried[*sdk.CallToolResult](ctx, s, errand{
		req:       req,
		said:      s.saidOf(req, req.Params.Meta),
		token:     req.Params.GetProgressToken(),
		server:    tool.of,
		tool:      tool.Name,
		arguments: req.Params.Arguments,
		promised:  s.hasPromised(req.Params.Name),
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
