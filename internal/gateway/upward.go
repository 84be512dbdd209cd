package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/upstream"
)

// clientOptions are what a server may ask of its client: what the agent's own client can do.
func (s *session) clientOptions(l *link) *sdk.ClientOptions {
	can := s.abilities()
	o := &sdk.ClientOptions{
		Capabilities:                can,
		LoggingMessageHandler:       l.log,
		ProgressNotificationHandler: l.progress,
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true}, // see answering
	}
	if can.Sampling != nil {
		o.CreateMessageWithToolsHandler = l.sample
	}
	if can.Elicitation != nil {
		o.ElicitationHandler = l.elicit
	}
	if s.stateless {
		return o // nothing can be sent to the client but the result of its request, which may be a question
	}
	if can.Elicitation != nil {
		o.ElicitationCompleteHandler = l.elicited
	}
	o.ResourceUpdatedHandler = func(ctx context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
		_ = s.server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: r.Params.URI})
	}
	if s.one != "" { // otherwise the lists are those of the registry
		o.PromptListChangedHandler = func(context.Context, *sdk.PromptListChangedRequest) { s.changedPrompts() }
		o.ResourceListChangedHandler = func(context.Context, *sdk.ResourceListChangedRequest) { s.changedResources() }
	}
	return o
}

// abilities are what the agent's client can do.
func (s *session) abilities() *sdk.ClientCapabilities {
	down := s.client()
	if down == nil {
		return &sdk.ClientCapabilities{}
	}
	hello := down.InitializeParams()
	if hello == nil || hello.Capabilities == nil {
		return &sdk.ClientCapabilities{}
	}
	of := hello.Capabilities
	return &sdk.ClientCapabilities{RootsV2: of.RootsV2, Sampling: of.Sampling, Elicitation: of.Elicitation}
}

func unsupported(what string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the client does not support " + what}
}

// roots asks the client for its folders, if a policy allows it: they say who works there, and on what.
func (l *link) roots(ctx context.Context) (*sdk.ListRootsResult, error) {
	down := l.s.client()
	if can := l.s.abilities(); down == nil || can.RootsV2 == nil {
		return nil, unsupported("roots")
	}
	return put(ctx, l, toolRoots, m{}, func(ctx context.Context) (*sdk.ListRootsResult, error) {
		if l.s.stateless {
			return askClient[*sdk.ListRootsResult](ctx, l.s, &sdk.ListRootsParams{})
		}
		return down.ListRoots(ctx, nil)
	})
}

// sample passes on that the server wants a model to be asked, if a policy allows it.
func (l *link) sample(
	ctx context.Context, req *sdk.CreateMessageWithToolsRequest,
) (answer *sdk.CreateMessageWithToolsResult, err error) {
	defer l.s.g.recovered(ctx, toolSampling, &err) // the SDK also calls it from a result, behind no middleware
	down := l.s.client()
	if down == nil {
		return nil, unsupported("sampling")
	}
	params := *req.Params
	params.Meta = nil
	if token := req.Params.GetProgressToken(); token != nil && !l.s.stateless {
		defer l.follow(token)()
		params.Meta = sdk.Meta{"progressToken": token}
	}
	return put(ctx, l, toolSampling, &params, func(ctx context.Context) (*sdk.CreateMessageWithToolsResult, error) {
		if l.s.stateless {
			return askClient[*sdk.CreateMessageWithToolsResult](ctx, l.s, &params)
		}
		return down.CreateMessageWithTools(ctx, &params)
	})
}

// elicit passes on a question to the user, if a policy allows it.
func (l *link) elicit(ctx context.Context, req *sdk.ElicitRequest) (answer *sdk.ElicitResult, err error) {
	defer l.s.g.recovered(ctx, toolElicitation, &err) // as sample
	down := l.s.client()
	if down == nil {
		return nil, unsupported("elicitation")
	}
	params := *req.Params
	params.Meta = nil
	return put(ctx, l, toolElicitation, &params, func(ctx context.Context) (*sdk.ElicitResult, error) {
		if l.s.stateless {
			return l.elicitInResult(ctx, &params)
		}
		return down.Elicit(ctx, &params)
	})
}

func (l *link) elicited(ctx context.Context, req *sdk.ElicitationCompleteNotificationRequest) {
	if down := l.s.client(); down != nil {
		ctx, cancel := l.stream(ctx)
		defer cancel()
		_ = down.NotifyElicitationComplete(ctx, req.Params) // a client that is gone cannot be told
	}
}

// put puts a question of the server to the client, on the stream of a request that it works on. A policy decides first,
// and no plan: it is not the agent that asks. The answer is not reported: it is the client's own word, and values of
// later calls must not be grounded in it as in what a server has said.
func put[R any](
	ctx context.Context, l *link, tool string, params any, ask func(ctx context.Context) (R, error),
) (answer R, err error) {
	arguments, err := json.Marshal(params)
	if err != nil {
		return answer, err
	}
	ctx, cancel := l.stream(ctx)
	defer cancel()
	_, refused, err := l.s.carry(ctx, errand{
		said:      l.s.saidMeanwhile(),
		server:    l.server(),
		tool:      tool,
		arguments: arguments,
		send: func(ctx context.Context, of *offered, _ jsontext.Value) (any, error) {
			var err error
			answer, err = ask(ctx)
			return nil, byClient(of.Name, err)
		},
	})
	switch failure, ok := errors.AsType[*upstream.Failure](err); {
	case refused != nil:
		return answer, refused.asError()
	case ok && failure.Kind == upstream.Answered:
		return answer, &jsonrpc.Error{Code: failure.Code, Message: failure.Message}
	}
	return answer, err
}

// byClient makes an error of the client one that the carrier knows: the client was asked, and has answered so.
func byClient(server string, err error) error {
	if err == nil {
		return nil
	}
	failure := &upstream.Failure{
		Kind:    upstream.Answered,
		Server:  server,
		Reason:  "the client did not answer its question",
		Sent:    true,
		Code:    jsonrpc.CodeInternalError,
		Message: "the client did not answer",
		Cause:   err,
	}
	if answered, ok := errors.AsType[*jsonrpc.Error](err); ok {
		failure.Code, failure.Message = answered.Code, answered.Message
	}
	return failure
}

// log passes on a line of the server's log, unless a policy had something left out of what it answered.
func (l *link) log(ctx context.Context, req *sdk.LoggingMessageRequest) {
	if down := l.s.client(); down != nil && !l.isHushed() {
		ctx, cancel := l.stream(ctx)
		defer cancel()
		params := *req.Params
		params.Meta = nil
		_ = down.Log(ctx, &params) // a client that is gone cannot be told
	}
}

// progress passes on how far a request is, to the stream of that request.
func (l *link) progress(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
	token, ok := tokenOf(req.Params.ProgressToken)
	if !ok {
		return
	}
	l.mu.Lock()
	var r *running
	for _, other := range l.running {
		if other.token == token {
			r = other
		}
	}
	// It must grow, also beyond what the client was told while the call was held.
	if r == nil || r.client == nil || r.told && req.Params.Progress <= r.progress {
		l.mu.Unlock()
		return
	}
	r.told, r.progress = true, req.Params.Progress
	l.mu.Unlock()
	if down := l.s.client(); down != nil {
		params := *req.Params
		params.Meta, params.ProgressToken = nil, r.client
		if r.quiet {
			params.Message = ""
		}
		_ = down.NotifyProgress(r.ctx, &params)
	}
}

// tokenOf reads a token of ours as JSON gives it back.
func tokenOf(token any) (int64, bool) {
	switch t := token.(type) {
	case int64:
		return t, true
	case float64:
		return int64(t), t == float64(int64(t))
	}
	return 0, false
}

// setLevel tells the server which logs the client wants, if it has said so.
func (l *link) setLevel(ctx context.Context) {
	l.s.mu.Lock()
	level := l.s.level
	l.s.mu.Unlock()
	if level == "" || l.capabilities().Logging == nil {
		return
	}
	_ = l.ask(ctx, nil, func(ctx context.Context, up *sdk.ClientSession, _ any) error {
		return up.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: level}) // logs are no reason to refuse calls
	})
}

// setLevel remembers which logs the client wants, and tells the servers.
func (s *session) setLevel(
	ctx context.Context, req *sdk.ServerRequest[*sdk.SetLoggingLevelParams], next sdk.MethodHandler,
) (sdk.Result, error) {
	s.mu.Lock()
	s.level = req.Params.Level
	links := s.openLinks()
	s.mu.Unlock()
	for _, l := range links {
		l.setLevel(ctx)
	}
	return next(ctx, methodSetLevel, req)
}

// openLinks are the links that exist. The caller holds the lock.
func (s *session) openLinks() []*link {
	links := make([]*link, 0, len(s.links))
	for _, l := range s.links {
		links = append(links, l)
	}
	return links
}

// tellRootsChanged tells the servers that the client has other folders. The SDK does so when one is added, and the
// servers are given those of the client.
func (s *session) tellRootsChanged() {
	s.mu.Lock()
	links := s.openLinks()
	s.mu.Unlock()
	for _, l := range links {
		l.mu.Lock()
		speaker := l.speaker
		l.mu.Unlock()
		if speaker != nil {
			speaker.AddRoots(&sdk.Root{URI: "file:///changed"})
		}
	}
}

// passProgress passes on how far the client is with what a server has asked it.
func (s *session) passProgress(ctx context.Context, of *sdk.ProgressNotificationParams) {
	l := s.askedWith(of.ProgressToken)
	if l == nil {
		return
	}
	if up := l.session(); up != nil {
		params := *of
		params.Meta = nil
		_ = up.Client().NotifyProgress(ctx, &params) // a server that is gone cannot be told
	}
}

// askedWith is the link whose server has asked the client something under a token; nil: none has.
func (s *session) askedWith(token any) *link {
	if !isToken(token) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[token]
}

// isToken reports whether a value can be a token of progress. Others may not even be keys of a map.
func isToken(value any) bool {
	switch value.(type) {
	case string, int64, float64:
		return true
	}
	return false
}

// follow lets the client report its progress with what a server has asked it, until the end.
func (l *link) follow(token any) (end func()) {
	s := l.s
	if !isToken(token) {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[any]*link{}
	}
	s.asked[token] = l
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asked, token)
	}
}
