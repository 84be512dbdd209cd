package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a request that a server answers with questions.
const (
	maxRounds = 10
	roundWait = 200 * time.Millisecond // before a server is asked again that asked nothing
)

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
			if req, err = again(req, answers, state); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("the server asked more than %d times", maxRounds)
	}
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
