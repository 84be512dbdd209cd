package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/audit"
	"writ/internal/carrier"
	"writ/internal/fault"
	"writ/internal/mcp/definition"
	"writ/internal/principal"
)

// Why sessions end.
var (
	errNotInitialized = errors.New("the session was not initialized")
	errDeleted        = errors.New("the client ended the session")
	errDone           = errors.New("the request has ended")
	errIdle           = errors.New("the session was not used for long")
	errStopping       = carrier.ErrStopping
	errGone           = errors.New("the client is gone")
)

// session is an agent's session with the endpoint.
type session struct {
	g         *Gateway
	id        string // empty: a request of the stateless protocol
	caller    principal.Principal
	one       string // the id of the only server that it is about; empty: all
	stateless bool
	opened    said // what the request that opened it said of its plan and agent
	server    *sdk.Server
	life      context.Context // ends with the session
	end       context.CancelCauseFunc
	closing   sync.Once
	body      *held // of the request that the session is; nil: it is a session

	mu      sync.Mutex
	sse     *sdk.SSEServerTransport // of the old SSE transport; nil: it is another one
	down    *sdk.ServerSession      // the client; nil: it has not said anything yet
	ready   bool                    // initialized
	listens bool                    // the client has opened a stream of its own: see listen
	links   map[string]*link        // by the id of the server; see linkOnce
	once    int64                   // how many links for one call there were
	asked   map[any]*link           // what servers have asked the client, by the token of its progress
	level   sdk.LoggingLevel        // of logs that the client wants; empty: it has not said
	running int                     // requests that run
	open    int                     // exchanges by HTTP that are open
	owed    int                     // requests of the client whose answers are not sent yet
	even    chan struct{}           // closed when none are owed any more; nil: nobody waits for that
	used    time.Time               // when the last one ended
	seen    audit.Version           // of the log when the client was last told what it may list
	talk    *talk                   // what a request of the stateless protocol does; nil: it asks nothing of servers

	promised map[string]bool // tools that the client was last shown with the form of their results; see promise
}

// open makes a session; without an id it is that of a request of the stateless protocol. Whoever gets one closes it.
func (g *Gateway) open(r *http.Request, caller principal.Principal, at place, id string) (*session, error) {
	life, end := context.WithCancelCause(context.Background()) // that of the request would keep the request
	s := &session{
		g:      g,
		id:     id,
		caller: caller,
		one:    at.one,
		opened: saidIn(r),
		life:   life,
		end:    end,
		used:   time.Now(),

		stateless: id == "",
	}
	if err := g.sessions.add(s); err != nil {
		end(err)
		return nil, err
	}
	s.server = g.newServer(s, at.about)
	return s, nil
}

// newServer is what the SDK knows of the session. A client of one server is told what that says of itself.
func (g *Gateway) newServer(s *session, about definition.Server) *sdk.Server {
	info := &sdk.Implementation{Name: "writ", Title: "Writ", Version: g.Version}
	if about.Name != "" {
		info = &sdk.Implementation{Name: about.Name, Title: about.Title, Version: about.Version}
	}
	server := sdk.NewServer(info, &sdk.ServerOptions{
		Instructions:       about.Instructions,
		Capabilities:       allCapabilities(),
		GetSessionID:       func() string { return s.id },
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	server.AddReceivingMiddleware(s.receive)
	return server
}

// within is a context that ends with the session too.
func (s *session) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := s.endable(ctx)
	return ctx, func() { end(context.Canceled) }
}

// endable is within, with an end that says why.
func (s *session) endable(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })
	return ctx, func(why error) { stop(); cancel(why) }
}

// use notes that an exchange begins, and gives what notes its end.
func (s *session) use() func() {
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		s.used = time.Now()
	}
}

// isIdle reports whether nobody has used the session for a time. It does not wait for the lock: a busy session is not
// idle, and a sweep over all sessions must not be held up by one.
func (s *session) isIdle(now time.Time, most time.Duration) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	return s.open == 0 && s.running == 0 && now.Sub(s.used) > most
}

// begin admits a request of the client; done notes its end.
func (s *session) begin() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return nil, &jsonrpc.Error{Code: codeEnded, Message: "the session has ended: " + context.Cause(s.life).Error()}
	}
	if s.running >= maxCallsAtOnce {
		return nil, &jsonrpc.Error{Code: codeBusy, Message: "too many requests of this session run at once: wait for some"}
	}
	s.running++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}, nil
}

// listen notes that the client has a stream for what comes of its own accord, and so has servers send that: without one
// nothing could be passed on, as if there were nothing between.
func (s *session) listen() {
	s.mu.Lock()
	s.listens = true
	links := s.openLinks()
	s.mu.Unlock()
	for _, l := range links {
		if up := l.session(); up != nil {
			up.Listen()
		}
	}
}

func (s *session) isListening() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listens
}

func (s *session) isInitialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// client is the client's side of the session; nil: it has not said anything yet.
func (s *session) client() *sdk.ServerSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// table is all sessions of the process.
type table struct {
	mu     sync.Mutex
	all    map[*session]struct{}
	byID   map[string]*session
	perKey map[string]int
	perOrg map[string]int
	closed bool

	talking   sync.WaitGroup // what requests without sessions do; see begins
	releasing sync.WaitGroup // closed sessions that still answer; see close
}

func (t *table) init() {
	t.all, t.byID = map[*session]struct{}{}, map[string]*session{}
	t.perKey, t.perOrg = map[string]int{}, map[string]int{}
}

// add admits a session, within the limits.
func (t *table) add(s *session) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	busy := fault.New(fault.TooMany, "this key has %d sessions open: close some", MaxSessionsPerKey)
	switch {
	case t.closed:
		return fault.New(fault.Unavailable, "the server is stopping")
	case len(t.all) >= MaxSessions:
		busy = fault.New(fault.Unavailable, "too many sessions are open: try again later")
	case t.perOrg[s.caller.OrgID] >= MaxSessionsPerOrganization:
		busy = fault.New(fault.TooMany, "the organization has %d sessions open: close some", MaxSessionsPerOrganization)
	case t.perKey[s.caller.KeyID] < MaxSessionsPerKey:
		busy = nil
	}
	if busy != nil {
		busy.RetryAfter = 30 * time.Second
		return busy
	}
	t.all[s] = struct{}{}
	t.perKey[s.caller.KeyID]++
	t.perOrg[s.caller.OrgID]++
	if s.id != "" {
		t.byID[s.id] = s
	}
	return nil
}

// talks notes that a request begins what may outlive it, until talking.Done; false: the server is stopping.
func (t *table) talks() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.talking.Add(1)
	return true
}

func (t *table) remove(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.all[s]; !ok {
		return
	}
	delete(t.all, s)
	delete(t.byID, s.id)
	if t.perKey[s.caller.KeyID]--; t.perKey[s.caller.KeyID] == 0 {
		delete(t.perKey, s.caller.KeyID)
	}
	if t.perOrg[s.caller.OrgID]--; t.perOrg[s.caller.OrgID] == 0 {
		delete(t.perOrg, s.caller.OrgID)
	}
}

// find is the caller's own session. That of another key or certificate, or of another place, is none.
func (t *table) find(id string, caller principal.Principal, at place) (*session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if id == "" || s == nil || s.one != at.one || !isSameCaller(s.caller, caller) {
		return nil, fault.New(fault.NotFound, "no such session: send initialize again")
	}
	return s, nil
}

// isSameCaller reports whether two requests are of the same key, with the same certificate.
func isSameCaller(a, b principal.Principal) bool {
	return a.KeyID == b.KeyID && a.OrgID == b.OrgID && a.Attested == b.Attested
}

// live are the sessions now.
func (t *table) live() []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*session, 0, len(t.all))
	for s := range t.all {
		all = append(all, s)
	}
	return all
}

// Close ends all sessions, and admits no more.
func (g *Gateway) Close() {
	g.sessions.mu.Lock()
	g.sessions.closed = true
	g.sessions.mu.Unlock()
	for _, s := range g.sessions.live() {
		s.close(errStopping)
	}
}

// Sessions is how many sessions are open.
func (g *Gateway) Sessions() int {
	g.sessions.mu.Lock()
	defer g.sessions.mu.Unlock()
	return len(g.sessions.all)
}
