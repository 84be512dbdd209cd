package gateway

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/audit"
	"writ/internal/carrier"
	"writ/internal/fault"
	"writ/internal/mcp/upstream"
)

// Codes of our own errors, in the range that JSON-RPC leaves to implementations.
const (
	codeDenied      = -32060 // a decision was not an allow
	codeUnreachable = -32061 // the server that should answer does not
	codeBusy        = -32062
	codeEnded       = -32063
)

// receive answers what the client asks, in place of the SDK.
func (s *session) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (answer sdk.Result, err error) {
		defer s.g.recovered(ctx, method, &err)
		done, err := s.begin()
		if err != nil {
			return nil, err
		}
		defer done()
		ctx, cancel := s.within(ctx)
		defer cancel()
		s.met(req)
		result, err := s.answer(ctx, method, req, next)
		if err != nil {
			return nil, s.explain(ctx, method, err)
		}
		return result, nil
	}
}

// recovered makes a panic an error: handlers run in goroutines of the SDK, where one would end the process.
func (g *Gateway) recovered(ctx context.Context, method string, err *error) {
	if cause := recover(); cause != nil {
		g.Logger.ErrorContext(ctx, "the handler of an MCP message panicked", "method", method, "panic", cause,
			"stack", string(debug.Stack()))
		*err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "this server could not answer"}
	}
}

// met notes who the client is.
func (s *session) met(req sdk.Request) {
	if down, ok := req.GetSession().(*sdk.ServerSession); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.down = down
	}
}

// answer answers one message.
func (s *session) answer(
	ctx context.Context, method string, req sdk.Request, next sdk.MethodHandler,
) (sdk.Result, error) {
	switch req := req.(type) {
	case *sdk.ServerRequest[*sdk.InitializeParams]:
		return s.initialize(ctx, req, next)
	case *sdk.ServerRequest[*sdk.DiscoverParams]:
		return s.discover(ctx, req, next)
	case *sdk.ListToolsRequest:
		return s.listTools(ctx, req)
	case *sdk.CallToolRequest:
		if s.stateless {
			return next(ctx, method, req) // the SDK knows how to ask a client without sessions: see offerOne
		}
		return s.callTool(ctx, req)
	case *sdk.ListPromptsRequest:
		return s.listPrompts(ctx, req)
	case *sdk.GetPromptRequest:
		if s.stateless {
			return next(ctx, method, req)
		}
		return s.getPrompt(ctx, req)
	case *sdk.ListResourcesRequest:
		return s.listResources(ctx, req)
	case *sdk.ListResourceTemplatesRequest:
		return s.listTemplates(ctx, req)
	case *sdk.ReadResourceRequest:
		if s.stateless {
			return next(ctx, method, req)
		}
		return s.readResource(ctx, req)
	case *sdk.SubscribeRequest:
		return s.subscribe(ctx, req, next)
	case *sdk.UnsubscribeRequest:
		return s.unsubscribe(ctx, req, next)
	case *sdk.CompleteRequest:
		return s.complete(ctx, req)
	case *sdk.ServerRequest[*sdk.SetLoggingLevelParams]:
		return s.setLevel(ctx, req, next)
	case *sdk.RootsListChangedRequest:
		s.tellRootsChanged()
	case *sdk.ProgressNotificationServerRequest:
		s.passProgress(ctx, req.Params)
	}
	return next(ctx, method, req)
}

// explain makes an error one that a client may read.
func (s *session) explain(ctx context.Context, method string, err error) error {
	if failure, ok := errors.AsType[*upstream.Failure](err); ok {
		if failure.Kind == upstream.Answered {
			return answered(failure)
		}
		message := failure.Error()
		if method == methodCallTool {
			message += failure.Aftermath()
		}
		return &jsonrpc.Error{Code: codeUnreachable, Message: message}
	}
	if own, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return own
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Internal {
		return &jsonrpc.Error{Code: codeDenied, Message: f.Message}
	}
	if cause := context.Cause(s.life); cause != nil {
		return &jsonrpc.Error{Code: codeEnded, Message: "the session has ended: " + cause.Error()}
	}
	if ctx.Err() == nil {
		s.g.Logger.ErrorContext(ctx, "an MCP request failed", "method", method, "error", err)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "this server could not answer: try again"}
}

// answered is an error with which a server has answered, as it sent it. A question to the user in it is left out: those
// are judged, and servers have another way to ask.
func answered(f *upstream.Failure) error {
	e := &jsonrpc.Error{Code: f.Code, Message: f.Message}
	if sent, ok := errors.AsType[*jsonrpc.Error](f.Cause); ok && f.Code != sdk.CodeURLElicitationRequired {
		e.Data = sent.Data
	}
	return e
}

// initialize begins a session. A client of one server is told what that server can do.
func (s *session) initialize(
	ctx context.Context, req *sdk.ServerRequest[*sdk.InitializeParams], next sdk.MethodHandler,
) (sdk.Result, error) {
	answer, err := next(ctx, methodInitialize, req)
	if err != nil {
		return nil, err
	}
	result, ok := answer.(*sdk.InitializeResult)
	if !ok {
		return nil, errors.New("the SDK answered initialize with something else")
	}
	told := *result
	if err := s.introduce(ctx, &told.Capabilities); err != nil {
		return nil, err
	}
	// Servers that log without being asked to are heard as if there were nothing between.
	_, err = next(ctx, methodSetLevel, &sdk.ServerRequest[*sdk.SetLoggingLevelParams]{
		Session: req.Session, Params: &sdk.SetLoggingLevelParams{Level: "debug"},
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.ready = true
	s.mu.Unlock()
	return &told, nil
}

// discover answers what initialize answers, to a client of the stateless protocol.
func (s *session) discover(
	ctx context.Context, req *sdk.ServerRequest[*sdk.DiscoverParams], next sdk.MethodHandler,
) (sdk.Result, error) {
	answer, err := next(ctx, methodDiscover, req)
	if err != nil {
		return nil, err
	}
	result, ok := answer.(*sdk.DiscoverResult)
	if !ok {
		return nil, errors.New("the SDK answered server/discover with something else")
	}
	if err := s.introduce(ctx, &result.Capabilities); err != nil {
		return nil, err
	}
	return result, nil
}

// introduce sets what the server can do that the client has connected to.
func (s *session) introduce(ctx context.Context, capabilities **sdk.ServerCapabilities) error {
	if s.one != "" {
		of, err := s.only(ctx)
		if err != nil {
			return err
		}
		link, err := s.link(ctx, of)
		failure, _ := errors.AsType[*upstream.Failure](err)
		switch {
		case err == nil:
			*capabilities = link.capabilities()
		case failure != nil && failure.Kind == upstream.Consent:
			// Calls say how the person consents, and a client that cannot connect would show nobody.
			*capabilities = &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}}
		case carrier.IsUndecided(err): // what it can do is not known yet, and all may be tried
		default:
			return err
		}
	}
	if s.stateless {
		*capabilities = withoutStreams(*capabilities)
	}
	return nil
}

// allCapabilities are those of the endpoint for all servers.
func allCapabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{
		Tools:       &sdk.ToolCapabilities{ListChanged: true},
		Prompts:     &sdk.PromptCapabilities{ListChanged: true},
		Resources:   &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Logging:     &sdk.LoggingCapabilities{},
		Completions: &sdk.CompletionCapabilities{},
	}
}

// withoutStreams are capabilities without what needs a stream that outlives a request.
func withoutStreams(of *sdk.ServerCapabilities) *sdk.ServerCapabilities {
	c := *of
	if c.Tools != nil {
		c.Tools = &sdk.ToolCapabilities{}
	}
	if c.Prompts != nil {
		c.Prompts = &sdk.PromptCapabilities{}
	}
	if c.Resources != nil {
		c.Resources = &sdk.ResourceCapabilities{}
	}
	return &c
}

// hasSeen reports whether the client was told of a version. A session that is busy is looked at again soon.
func (s *session) hasSeen(version audit.Version) bool {
	if !s.mu.TryLock() {
		return true
	}
	defer s.mu.Unlock()
	return s.seen == version
}

// noticed tells the client that its lists may have changed, and ends links to servers that did.
func (s *session) noticed(all *catalogue) {
	if !s.mu.TryLock() {
		return
	}
	first, ready := s.seen == audit.Version{}, s.ready
	s.seen = all.version
	links := s.openLinks()
	s.mu.Unlock()
	for _, l := range links {
		l.endUnless(all)
	}
	if !first && ready {
		s.changedTools()
	}
}

// changed* make the SDK tell the client that a list has changed. It does so when something is added, and what is added
// is never shown: lists are answered here.
func (s *session) changedTools() {
	s.server.AddTool(&sdk.Tool{Name: "changed", InputSchema: emptySchema}, nil)
}

func (s *session) changedPrompts() { s.server.AddPrompt(&sdk.Prompt{Name: "changed"}, nil) }

func (s *session) changedResources() {
	s.server.AddResource(&sdk.Resource{URI: "writ:changed", Name: "changed"}, nil)
}
