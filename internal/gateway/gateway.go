// Package gateway is the MCP endpoint through which agents reach their MCP servers.
//
// To an agent it is one MCP server, or each registered server by itself; to those servers it is their client, with
// credentials that the agent never sees. What an agent lists is what people have accepted and what policy and plan
// could ever allow; what it calls goes through package carrier, which has every call judged with the agent's own key,
// sends it once and reports it. What servers ask of their client (sampling, elicitation, roots) is judged as well.
//
//	agent ──> session ──> judge, carry out once, report ──> link ──> MCP server
//
// A session belongs to the key that opened it, and so do its links: nothing is shared between sessions but connections
// and what the registry says. Three transports lead to the same session: streamable HTTP with sessions, the stateless
// protocol of 2026-07-28, in which each request is a session of its own, and the SSE transport of old clients. When the
// key or agent is stopped, or the key ends, its sessions end within a second.
package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/carrier"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/mcp"
	"writ/internal/mcp/definition"
	"writ/internal/principal"
	"writ/internal/toolname"
)

// Limits of the endpoint.
const (
	MaxSessionsPerKey          = 1_000
	MaxSessionsPerOrganization = 5_000
	MaxSessions                = 10_000
	// MaxWaitingPerKey is how many calls of a key may wait for a person at once. Those beyond are answered at once,
	// with the request that is open.
	MaxWaitingPerKey = 100
	IdleTime         = 30 * time.Minute
	// maxCallsAtOnce is how many requests of one session may run at the same time.
	maxCallsAtOnce = 64
	// callTime is how long a server may take, also while it asks the agent's user something.
	callTime = 2 * time.Minute
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	// statelessFrom is the version of MCP from which on there are no sessions.
	statelessFrom = "2026-07-28"
	// sessionParameter names the session of the old SSE transport.
	sessionParameter = "sessionid"
)

// The methods that are not left to the SDK.
const (
	methodInitialize    = "initialize"
	methodDiscover      = "server/discover"
	methodListTools     = "tools/list"
	methodCallTool      = "tools/call"
	methodListPrompts   = "prompts/list"
	methodGetPrompt     = "prompts/get"
	methodListResources = "resources/list"
	methodListTemplates = "resources/templates/list"
	methodReadResource  = "resources/read"
	methodSubscribe     = "resources/subscribe"
	methodUnsubscribe   = "resources/unsubscribe"
	methodComplete      = "completion/complete"
	methodSetLevel      = "logging/setLevel"
	rootsChanged        = "notifications/roots/list_changed"
	clientProgress      = "notifications/progress"
)

// Servers says which servers an organization has approved, and what they offer.
type Servers interface {
	List(ctx context.Context, p principal.Principal, status mcp.Status) ([]mcp.Server, error)
	Tools(ctx context.Context, p principal.Principal, id string) (mcp.Server, []mcp.Tool, error)
}

// Decisions says what a caller could ever be allowed, whether it may act at all, and how new that is.
type Decisions interface {
	Visible(
		ctx context.Context, p principal.Principal, r enforcement.Request, tools []toolname.Name,
	) ([]enforcement.Sight, error)
	RefuseCaller(ctx context.Context, p principal.Principal, agentID string) error
	Version(ctx context.Context, p principal.Principal) (audit.Version, error)
}

// Approvals waits for people's answers.
type Approvals interface {
	Wait(ctx context.Context, p principal.Principal, id string, upTo time.Duration) (approval.Request, error)
}

// Options are what the endpoint needs.
type Options struct {
	Servers   Servers
	Decisions Decisions
	Approvals Approvals
	Carrier   *carrier.Carrier
	Logger    *slog.Logger
	Version   string
	// HoldTime is how long a call waits for a person's yes.
	HoldTime     time.Duration
	MaxBodyBytes int64
	// ReadBody reads a body within what the bodies of all requests may take together; release gives that back.
	ReadBody func(r *http.Request, limit int64) (body []byte, release func(), err error)
	IdleTime time.Duration // 0: IdleTime
}

// Gateway serves the endpoint. A process needs one.
type Gateway struct {
	Options
	sessions   table
	catalogues catalogues
	streamable http.Handler
	stateless  http.Handler
	waiting    waitingCalls
	talks      talks
}

// Waiting is how many calls wait for a person.
func (g *Gateway) Waiting() int { return g.waiting.count() }

// New makes a Gateway. The app runs Run beside it, and Close before the server stops.
func New(o Options) *Gateway {
	if o.IdleTime == 0 {
		o.IdleTime = IdleTime
	}
	g := &Gateway{Options: o}
	g.sessions.init()
	g.talks.limit = &g.waiting
	// The router checks the host, and this server may stand behind a proxy on the same machine.
	options := sdk.StreamableHTTPOptions{DisableLocalhostProtection: true, MaxRequestBodyBytes: o.MaxBodyBytes}
	g.streamable = known(sdk.NewStreamableHTTPHandler(serverOf, &options))
	options.Stateless, options.PropagateRequestCancellation = true, true
	g.stateless = known(sdk.NewStreamableHTTPHandler(serverOf, &options))
	return g
}

func serverOf(r *http.Request) *sdk.Server {
	if s, ok := r.Context().Value(sessionKey{}).(*session); ok {
		return s.server
	}
	return nil
}

type (
	sessionKey  struct{}
	exchangeKey struct{}
)

// exchange is one request by HTTP, as the handler of the message in it must know it.
type exchange struct {
	request context.Context // ends when the client does not wait any more
	said    said
	offers  *catalogue // what there was when the request came; nil: it was not looked at
}

// known makes the SDK hand the exchange to the handlers of its message: what it knows of a caller is all that it hands
// on. The caller was authenticated before.
func known(next http.Handler) http.Handler {
	verify := func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		s, ok := r.Context().Value(sessionKey{}).(*session)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{
			UserID: s.caller.KeyID,
			Extra:  map[string]any{"exchange": r.Context().Value(exchangeKey{})},
		}, nil
	}
	return auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

// exchangeOf is the exchange that brought a message; nil: the transport does not say.
func exchangeOf(req sdk.Request) *exchange {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	e, _ := extra.TokenInfo.Extra["exchange"].(*exchange)
	return e
}

// Serve answers a request of an authenticated key. one is the id or name of the server that the path names; empty:
// all. A fault is for the router to write.
func (g *Gateway) Serve(w http.ResponseWriter, r *http.Request, caller principal.Principal, one string) error {
	if caller.Kind != principal.Key || caller.OrgID == "" {
		return fault.New(fault.Forbidden, "this key belongs to no organization")
	}
	place := place{path: r.URL.Path}
	if one != "" {
		all, err := g.catalogueFor(r.Context(), caller)
		if err != nil {
			return err
		}
		of := all.server(one)
		if of == nil {
			return fault.New(fault.NotFound, "no approved MCP server has this id or name, or it cannot be reached by HTTP")
		}
		place.one, place.about, place.offers = of.ID, of.About, all
	}
	out := newPatient(w)
	switch r.Method {
	case http.MethodPost:
		return g.post(out, r, caller, place)
	case http.MethodDelete:
		return g.delete(out, r, caller, place)
	}
	return g.get(out, r, caller, place)
}

// place is where a request was sent.
type place struct {
	path  string
	one   string            // the id of the only server; empty: all
	about definition.Server // what that says of itself, as people can see it in the registry

	offers *catalogue // what there is; nil: it was not looked at
}

// post takes a message.
func (g *Gateway) post(w *patient, r *http.Request, caller principal.Principal, at place) error {
	if r.Header.Get("Content-Encoding") != "" {
		return refuse("the body must not be compressed")
	}
	// It is held as long as the request runs, or the call that it began, and so is what was read of it.
	body, release, err := g.ReadBody(r, g.MaxBodyBytes)
	room := holding(release)
	defer room.done()
	if err != nil {
		return err
	}
	m, err := readMessage(body)
	if err == nil {
		err = m.checkHeaders(r.Header)
	}
	if err != nil {
		return err
	}
	w.listen()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if id := r.URL.Query().Get(sessionParameter); id != "" {
		return g.postSSE(w, r, caller, at, id)
	}
	if r.Header.Get(versionHeader) >= statelessFrom {
		return g.serveStateless(w, r, caller, at, &m, room)
	}
	id := r.Header.Get(sessionHeader)
	if id != "" {
		s, err := g.sessions.find(id, caller, at)
		if err != nil {
			return err
		}
		s.serve(g.streamable, w, r, at.offers)
		return nil
	}
	if m.method != methodInitialize {
		return refuse("there is no session: send initialize first, and then " + sessionHeader + " with each request")
	}
	return g.initialize(w, r, caller, at)
}

// initialize opens a session by the message that asks for one, and ends it if that fails.
func (g *Gateway) initialize(w *patient, r *http.Request, caller principal.Principal, at place) error {
	s, err := g.open(r, caller, at, rand.Text())
	if err != nil {
		return err
	}
	alone, done := detached(r)
	defer done()
	s.serve(g.streamable, w, alone, nil)
	if !s.isInitialized() {
		s.close(errNotInitialized)
	}
	return nil
}

// detached is a request whose context ends with it and keeps nothing else of it: the SDK keeps the context of the
// request that opens a session for as long as the session.
func detached(r *http.Request) (*http.Request, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(r.Context(), func() { cancel(context.Cause(r.Context())) })
	if agentID, granted := r.Context().Value(grantedAgent{}).(string); granted {
		return r.WithContext(WithAgent(ctx, agentID)), func() { stop(); cancel(nil) }
	}
	return r.WithContext(ctx), func() { stop(); cancel(nil) }
}

// get opens the stream of a session, or a session of the old SSE transport, which begins so.
func (g *Gateway) get(w *patient, r *http.Request, caller principal.Principal, at place) error {
	w.listen()
	id := r.Header.Get(sessionHeader)
	if id == "" {
		return g.serveSSE(w, r, caller, at)
	}
	s, err := g.sessions.find(id, caller, at)
	if err != nil {
		return err
	}
	s.listen()
	s.serve(g.streamable, w, r, nil)
	return nil
}

func (g *Gateway) delete(w *patient, r *http.Request, caller principal.Principal, at place) error {
	s, err := g.sessions.find(r.Header.Get(sessionHeader), caller, at)
	if err != nil {
		return err
	}
	s.close(errDeleted)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// serveStateless answers a request of the protocol without sessions: the session is this request.
func (g *Gateway) serveStateless(
	w *patient, r *http.Request, caller principal.Principal, at place, m *message, body *held,
) error {
	s, err := g.open(r, caller, at, "")
	if err != nil {
		return err
	}
	s.body = body
	defer s.closeUnlessWaiting()
	s.offerOne(m)
	r.Header.Del(sessionHeader)
	s.serve(g.stateless, w, r, at.offers)
	return nil
}

// serve has the SDK answer a request within the session. offers is what there was when it came; nil: that is not known.
func (s *session) serve(by http.Handler, w http.ResponseWriter, r *http.Request, offers *catalogue) {
	defer s.use()()
	waiting, cancel := s.within(r.Context())
	defer cancel()
	e := &exchange{request: waiting, said: saidIn(r), offers: offers}
	ctx, cut := s.outlasting(r.Context())
	defer cut()
	if r.Method == http.MethodPost {
		s.owes()
		defer s.paid()
	}
	ctx = context.WithValue(context.WithValue(ctx, sessionKey{}, s), exchangeKey{}, e)
	r = r.WithContext(ctx)
	r.Header = r.Header.Clone()
	// The key has done its work, and the SDK passes headers on to handlers.
	r.Header.Del("X-Api-Key")
	r.Header.Set("Authorization", "Bearer known")
	by.ServeHTTP(w, r)
}
