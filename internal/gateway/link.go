package gateway

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/carrier"
	"writ/internal/mcp/upstream"
)

// link is a session's own session with one server. It is opened when it is first needed, and again when the server has
// ended it or its registration has changed.
type link struct {
	s      *session
	tokens atomic.Int64

	opening sync.Mutex // held while it is opened

	mu      sync.Mutex
	of      *offered // the server
	speaker *sdk.Client
	up      *upstream.Session
	changed time.Time // of the registration that it was opened by
	closed  bool
	running []*running // requests of the client that this server works on, oldest first
	// hushed: there was a call beside whose result the server may say nothing. A line of its log may be about it at any
	// time after.
	hushed bool
}

// running is a request of the client while a server works on it.
type running struct {
	ctx      context.Context // of its handler: what is sent with it goes to the stream of that request
	client   any             // the token that the client wants progress for; nil: it does not
	token    int64           // the one that the server was given
	progress float64         // of what the client was told last
	told     bool
	quiet    bool // see carrier.IsQuiet
}

// isHushed reports whether the server's log is not passed on.
func (l *link) isHushed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hushed
}

// link is the session's link to a server, open. What was judged goes to the server that it was judged for, as that was
// registered then.
func (s *session) link(ctx context.Context, of *offered) (*link, error) {
	registered := of.UpdatedAt
	if judged, ok := carrier.Judged(ctx); ok {
		if judged.ID != of.ID {
			return nil, carrier.Changed(of.Name)
		}
		registered = judged.UpdatedAt
	}
	if s.g.Carrier.IsForOneCall(ctx) {
		l := s.linkOnce(ctx)
		return l, l.reach(ctx, of, registered)
	}
	s.mu.Lock()
	if s.links == nil {
		s.links = map[string]*link{}
	}
	l := s.links[of.ID]
	if l == nil {
		l = &link{s: s}
		s.links[of.ID] = l
	}
	s.mu.Unlock()
	return l, l.reach(ctx, of, registered)
}

// linkOnce is a link for the call that is being sent, which ends with it.
func (s *session) linkOnce(ctx context.Context) *link {
	l := &link{s: s}
	s.mu.Lock()
	if s.links == nil {
		s.links = map[string]*link{}
	}
	s.once++
	name := "once " + strconv.FormatInt(s.once, 10) // no id of a server
	s.links[name] = l
	s.mu.Unlock()
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		delete(s.links, name)
		s.mu.Unlock()
		l.close()
	})
	return l
}

// reach opens the link if it is not open by this registration.
func (l *link) reach(ctx context.Context, of *offered, registered time.Time) error {
	l.opening.Lock()
	defer l.opening.Unlock()
	l.mu.Lock()
	stale := l.up
	if l.up != nil && l.changed.Equal(registered) {
		l.mu.Unlock()
		return nil
	}
	l.up, l.of = nil, of // before it is open: the server may ask something while it is opened
	l.mu.Unlock()
	if stale != nil {
		stale.End()
	}
	by := carrier.Caller{Principal: l.s.caller}
	up, err := l.s.g.Carrier.Open(ctx, by, of.Name, carrier.Credentials{}, upstream.Options{
		Client:  l.s.clientOptions(l),
		Prepare: l.prepare,
		Listen:  !l.s.stateless,
		Later:   !l.s.isListening(),
		Timeout: callTime,
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.up, l.changed = up, registered
	gone := l.closed || l.s.life.Err() != nil
	l.mu.Unlock()
	if gone { // the session ended meanwhile
		l.close()
		return context.Cause(l.s.life)
	}
	if l.s.isListening() { // since it was opened
		up.Listen()
	}
	go l.forget(up)
	l.setLevel(ctx)
	return nil
}

// forget waits until the server has ended its session, so that the next call opens another.
func (l *link) forget(up *upstream.Session) {
	up.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up == up {
		l.up = nil
	}
}

// endUnless ends the session with a server that is not approved any more, or registered otherwise since.
func (l *link) endUnless(all *catalogue) {
	l.mu.Lock()
	up := l.up
	if up != nil {
		if now := all.byID[l.of.ID]; now != nil && !now.UpdatedAt.After(l.changed) {
			up = nil
		} else {
			l.up = nil
		}
	}
	l.mu.Unlock()
	if up != nil {
		up.End()
	}
}

func (l *link) close() {
	l.mu.Lock()
	up := l.up
	l.up, l.closed = nil, true
	l.mu.Unlock()
	if up != nil {
		up.End()
	}
}

// server is the server that it leads to.
func (l *link) server() *offered {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of
}

// session is the open session; nil: the server has just ended it.
func (l *link) session() *upstream.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}

// ask asks the server something on behalf of a request of the client.
func (l *link) ask(
	ctx context.Context, token any, do func(ctx context.Context, up *sdk.ClientSession, token any) error,
) error {
	up := l.session()
	if up == nil {
		return &upstream.Failure{
			Kind: upstream.Broken, Server: l.server().Name, Reason: "it has ended the session: try again",
		}
	}
	r := &running{ctx: ctx, client: token, token: l.tokens.Add(1), quiet: carrier.IsQuiet(ctx)}
	l.mu.Lock()
	l.running, l.hushed = append(l.running, r), l.hushed || r.quiet
	l.mu.Unlock()
	defer l.done(r)
	var mine any
	if token != nil {
		mine = r.token
	}
	return up.Ask(ctx, func(ctx context.Context) error { return do(ctx, up.Client(), mine) })
}

func (l *link) done(r *running) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.running, r); i >= 0 {
		l.running = slices.Delete(l.running, i, i+1) // and keeps nothing of the request
	}
}

// stream is the context with which something reaches the client on the stream of the request that the server most
// likely means: its newest. Without any it goes to the stream of the session. Nothing says which one a server means.
func (l *link) stream(otherwise context.Context) (context.Context, context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.running); n > 0 {
		ctx, cancel := context.WithCancel(l.running[n-1].ctx)
		stop := context.AfterFunc(otherwise, cancel) // the server does not wait any more
		return ctx, func() { stop(); cancel() }
	}
	return l.s.within(otherwise)
}

// capabilities are what the server can do.
func (l *link) capabilities() *sdk.ServerCapabilities {
	if up := l.session(); up != nil {
		if hello := up.Client().InitializeResult(); hello != nil && hello.Capabilities != nil {
			return hello.Capabilities
		}
	}
	return &sdk.ServerCapabilities{}
}
