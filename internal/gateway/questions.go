package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/fault"
)

// Limits of a request that a server answers with questions.
const (
	maxRounds = 10
	roundWait = 200 * time.Millisecond // before a server is asked again that asked nothing
)

// prepare makes the link answer what the SDK would answer by itself.
func (l *link) prepare(c *sdk.Client) {
	l.mu.Lock()
	l.speaker = c
	l.mu.Unlock()
	c.AddSendingMiddleware(l.answering)
	c.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (answer sdk.Result, err error) {
			defer l.s.g.recovered(ctx, method, &err)
			switch req.(type) {
			case *sdk.ListRootsRequest:
				answer, err = l.roots(ctx)
			case *sdk.CreateMessageRequest, *sdk.CreateMessageWithToolsRequest, *sdk.ElicitRequest:
				answer, err = next(ctx, method, req)
			default:
				return next(ctx, method, req)
			}
			if err == nil {
				err = l.mayGoOn(ctx, l.asking())
			}
			return answer, err
		}
	})
}

// answering answers the questions in the results of a server, and sends the request again with the answers. The SDK
// would do so in goroutines of its own, where a question that it cannot read ends the process: here the carrier
// recovers.
func (l *link) answering(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		for range maxRounds {
			result, err = next(ctx, method, req)
			questions, state := questionsOf(result)
			if err != nil || questions == nil {
				return result, err
			}
			answers, err := l.answers(ctx, questions)
			if err != nil {
				return nil, err
			}
			if err := l.mayGoOn(ctx, errandOf(ctx)); err != nil {
				return nil, err
			}
			if req, err = again(req, answers, state); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("the server asked more than %d times", maxRounds)
	}
}

// errandOf is what is being done in a context, if it was judged.
func errandOf(ctx context.Context) []*errand {
	if e, ok := ctx.Value(errandKey{}).(*errand); ok {
		return []*errand{e}
	}
	return nil
}

// asking is what the server works on. Nothing says which of it a question is about.
func (l *link) asking() (all []*errand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.running {
		all = append(all, errandOf(r.ctx)...)
	}
	return all
}

// mayGoOn refuses an answer to a server if what it works on must not go on: while the client was asked a person may
// have stopped the tool, the server or the plan, or a policy may have changed.
func (l *link) mayGoOn(ctx context.Context, with []*errand) error {
	for _, e := range with {
		may, err := l.s.mayEver(ctx, e.said, e.server.Name, e.tool)
		if err == nil && may {
			continue
		}
		why := "while its question was asked a person has stopped the tool, the server or the plan, or a policy has changed"
		if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Internal {
			why = f.Message
		} else if err != nil {
			l.s.g.Logger.WarnContext(ctx, "nobody could tell whether a call may go on", "tool", e.tool, "error", err)
			why = "this server cannot tell now whether it may"
		}
		return &jsonrpc.Error{
			Code:    codeDenied,
			Message: "Denied: " + e.tool + " of " + e.server.Name + " may not go on: " + why + ".",
		}
	}
	return nil
}

// questionsOf is what a server asks in place of a result, and what it wants back with the answers; nil: nothing.
func questionsOf(result sdk.Result) (sdk.InputRequestMap, string) {
	switch r := result.(type) {
	case *sdk.CallToolResult:
		if r != nil {
			return r.InputRequests, r.RequestState
		}
	case *sdk.GetPromptResult:
		if r != nil {
			return r.InputRequests, r.RequestState
		}
	case *sdk.ReadResourceResult:
		if r != nil {
			return r.InputRequests, r.RequestState
		}
	}
	return nil, ""
}

// answers has questions judged and put to the client, one after the other.
func (l *link) answers(ctx context.Context, questions sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	if len(questions) == 0 { // the server is busy
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(roundWait):
		}
	}
	answers := sdk.InputResponseMap{}
	for _, id := range slices.Sorted(maps.Keys(questions)) {
		answer, err := l.answer(ctx, questions[id])
		if err != nil {
			return nil, fmt.Errorf("answer a question of the server: %w", err)
		}
		answers[id] = answer
	}
	return answers, nil
}

func (l *link) answer(ctx context.Context, question sdk.InputRequest) (sdk.InputResponse, error) {
	can := l.s.abilities()
	switch params := question.(type) {
	case *sdk.ElicitParams:
		if can.Elicitation == nil {
			return nil, unsupported("elicitation")
		}
		return l.elicit(ctx, &sdk.ElicitRequest{Params: params})
	case *sdk.CreateMessageWithToolsParams:
		if can.Sampling == nil {
			return nil, unsupported("sampling")
		}
		return l.sample(ctx, &sdk.CreateMessageWithToolsRequest{Params: params})
	case *sdk.ListRootsParams:
		return l.roots(ctx)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the server asks what no client can answer"}
}

// again is a request with answers to the server's questions. What was sent before stays as it is.
func again(req sdk.Request, answers sdk.InputResponseMap, state string) (sdk.Request, error) {
	session, _ := req.GetSession().(*sdk.ClientSession)
	switch params := req.GetParams().(type) {
	case *sdk.CallToolParams:
		next := *params
		next.InputResponses, next.RequestState = answers, state
		return &sdk.ClientRequest[*sdk.CallToolParams]{Session: session, Params: &next}, nil
	case *sdk.GetPromptParams:
		next := *params
		next.InputResponses, next.RequestState = answers, state
		return &sdk.ClientRequest[*sdk.GetPromptParams]{Session: session, Params: &next}, nil
	case *sdk.ReadResourceParams:
		next := *params
		next.InputResponses, next.RequestState = answers, state
		return &sdk.ClientRequest[*sdk.ReadResourceParams]{Session: session, Params: &next}, nil
	}
	return nil, fmt.Errorf("a request with %T cannot be sent again", req.GetParams())
}
