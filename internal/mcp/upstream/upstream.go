// Package upstream calls registered MCP servers on behalf of agents.
//
// A Session is one MCP session with one server, for one session or call of an agent: it is never shared with another,
// because a server may keep something in it. The connections beneath are shared. The official SDK speaks the protocol;
// the server's credentials are put on each request here, so that the agent never sees them, and go to the registered
// address alone.
//
// A server is not trusted. What it sends is limited in bytes, also over time, and in how long it may take; it is not
// followed to another address; what it answers to a request must be about that request. Whatever goes wrong is a
// [Failure], which says in words that an agent may read what happened, and whether the request was sent: only one that
// was not may be sent again.
package upstream

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/definition"
	"writ/internal/secret"
)

// Limits where Options state none.
const (
	DefaultMaxBytes = 8 << 20 // of one answer
	DefaultTimeout  = 30 * time.Second

	dialTimeout  = 15 * time.Second // to open a session
	closeTimeout = 6 * time.Second  // to end one
	// headerTimeout is how long a stream may take to open: the SDK waits for it without a limit.
	headerTimeout = 10 * time.Second
	// drainTime is how long the rest of an answer is read, so that its connection can be used again.
	drainTime = time.Second
	// reconnects is how often a stream that broke is taken up again. That repeats no request.
	reconnects = 2
)

// Target is a registered server.
type Target struct {
	Name      string // for people
	URL       string
	Transport string      // definition.HTTP or definition.SSE; empty: HTTP
	Header    http.Header // the credentials; never printed
	// Token is the person's token, asked for with each request, because it is renewed and can be taken back. Its error
	// says in words for agents why there is none. Nil: Header has the credentials.
	Token func(ctx context.Context) (secret.Text, error)
	// Spent is told that the server refuses the token that it was given.
	Spent func(ctx context.Context, token secret.Text)
}

// Options say what a session does.
type Options struct {
	// Client has the handlers of what the server asks of its client; nil: it is told that the client can do nothing.
	Client *mcp.ClientOptions
	// Prepare sets up the client before it connects; nil: there is nothing to set up.
	Prepare func(*mcp.Client)
	// Info is what the server is told of its client; nil: writ.
	Info *mcp.Implementation
	// Protocol is the version to ask for; empty: the latest.
	Protocol string
	// Listen opens a stream for what the server sends of its own accord; Later: not before Session.Listen says so.
	Listen   bool
	Later    bool
	MaxBytes int64         // of one answer, and of a minute of a stream; 0: DefaultMaxBytes
	Timeout  time.Duration // of a call; 0: DefaultTimeout
}

func (o Options) filled() Options {
	if o.Client == nil {
		o.Client = &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	}
	if o.Info == nil {
		o.Info = &mcp.Implementation{Name: "writ", Version: "1"}
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	return o
}

// Dialer opens sessions. A process needs one.
type Dialer struct {
	calls, streams http.RoundTripper
	drain          time.Duration  // see tie
	ending         sync.WaitGroup // sessions that are being ended
}

// New makes a Dialer. Requests go through calls, and streams that stay open through streams: each session may hold one
// for as long as it lives, and calls must not wait for those. Both say what may be called.
func New(calls, streams http.RoundTripper) *Dialer {
	return &Dialer{calls: calls, streams: streams, drain: drainTime}
}

// Close waits until the sessions that are being ended have ended.
func (d *Dialer) Close() { d.ending.Wait() }

// Dial opens a session with a server. It lives until it is closed, whatever becomes of ctx. The error is a *Failure:
// no call was sent.
func (d *Dialer) Dial(ctx context.Context, t Target, o Options) (*Session, error) {
	o = o.filled()
	home, err := url.Parse(t.URL)
	if err != nil {
		return nil, &Failure{Kind: Unreachable, Server: t.Name, Reason: "its address cannot be read"}
	}
	life, end := context.WithCancel(context.Background()) // ctx would be kept with all that its call knows
	web := &web{calls: d.calls, streams: d.streams, home: home, header: t.Header}
	web.most, web.token, web.spent = o.MaxBytes, t.Token, t.Spent
	web.life, web.drain, web.order = life, d.drain, newOrder()
	web.apart = t.Transport == definition.SSE
	if o.Listen && t.Transport != definition.SSE {
		web.standing = newStanding()
		if !o.Later {
			web.standing.listen()
		}
	}
	client := &http.Client{
		Transport:     web,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s := &Session{dialer: d, name: t.Name, web: web, timeout: o.Timeout}
	s.end = end
	// The session outlives ctx, and opening it does not.
	opening, stop := context.WithTimeout(ctx, dialTimeout)
	defer stop()
	abandoned := context.AfterFunc(opening, end)
	connected, err := speaker(o, web.order).Connect(life, transport(t, o, client),
		&mcp.ClientSessionOptions{ProtocolVersion: o.Protocol})
	if !abandoned() && err == nil {
		err = opening.Err()
		_ = connected.Close() // it was opened too late
	}
	if err != nil {
		end()
		return nil, s.explain(opening, err, &call{})
	}
	web.trouble.forget() // a server that did not know a newer way to begin was asked in an older one
	s.client = connected
	return s, nil
}

// speaker is a client of the SDK, before it is connected.
func speaker(o Options, in *order) *mcp.Client {
	c := mcp.NewClient(o.Info, o.Client)
	in.prepare(c)
	c.AddSendingMiddleware(refuseNothing)
	if o.Prepare != nil {
		o.Prepare(c)
	}
	return c
}

func transport(t Target, o Options, client *http.Client) mcp.Transport {
	if t.Transport == definition.SSE {
		return &mcp.SSEClientTransport{Endpoint: t.URL, HTTPClient: client, MaxEventSize: int(o.MaxBytes)}
	}
	return &mcp.StreamableClientTransport{
		Endpoint:             t.URL,
		HTTPClient:           client,
		MaxRetries:           reconnects,
		DisableStandaloneSSE: !o.Listen,
		MaxEventSize:         int(o.MaxBytes),
	}
}
