// Package outbound is the only way in which Writ calls an address that a user chose, such as the target of a webhook.
//
// A user who may name an address could name one that only this server can reach: the database next to it, the cloud's
// metadata service that hands out credentials, a router's front page. So a Client calls only public addresses, and
// checks the address that is really dialed, in the hook that the dialer runs between resolving and connecting. A name
// that was public when it was saved and is private now gets no connection.
//
// It also refuses what a webhook never needs and an attack often does: schemes other than http and https, a user name
// in the URL, ports other than 80 and 443, an address written as a bare number. It follows no redirects, uses no proxy
// of the environment (a proxy would dial for us), and limits time and bytes in both directions.
//
// An operator whose targets are in a private network permits them for the whole server with WRIT_OUTBOUND_ALLOW. Users
// cannot extend this.
//
// A user learns only the class of a failure: a prober wants to know which private address a name has, or which port is
// open there. The URL of a webhook is often a secret in itself, so no error contains it.
package outbound

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Limits of one request.
const (
	MaxURL    = 2048      // bytes of a target's URL
	MaxBody   = 256 << 10 // bytes that are sent
	MaxAnswer = 4 << 10   // bytes of the answer that are kept; the rest is not read

	requestTime     = 10 * time.Second // for the whole request, resolving and reading included
	connectTime     = 5 * time.Second
	maxAnswerHeader = 16 << 10
	idleTime        = 30 * time.Second
)

// Options configure a Client. The zero value is a client for public addresses.
type Options struct {
	Permits   []Permit
	UserAgent string         // empty: writ
	Timeout   time.Duration  // of a whole request, and until an answer begins; 0: ten seconds
	Conns     int            // to one host at once, which are kept; 0: eight, of which one is kept
	Resolver  *net.Resolver  // nil: the system's
	RootCAs   *x509.CertPool // nil: the system's
}

// Client sends requests to addresses chosen by users. It is safe for concurrent use.
type Client struct {
	guard     guard
	agent     string
	timeout   time.Duration
	transport *http.Transport
}

func New(o Options) *Client {
	c := &Client{
		guard: guard{permits: o.Permits}, agent: cmp.Or(o.UserAgent, "writ"), timeout: cmp.Or(o.Timeout, requestTime),
	}
	c.transport = &http.Transport{
		Proxy:                  nil,
		DialContext:            c.dialer(o.Resolver),
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:    connectTime,
		ResponseHeaderTimeout:  c.timeout,
		MaxResponseHeaderBytes: maxAnswerHeader,
		MaxIdleConnsPerHost:    1,
		MaxIdleConns:           32,
		MaxConnsPerHost:        8,
		IdleConnTimeout:        idleTime,
		DisableCompression:     true, // a small compressed answer must not become a large one
	}
	if o.Conns > 0 {
		c.transport.MaxConnsPerHost, c.transport.MaxIdleConnsPerHost = o.Conns, o.Conns
		c.transport.MaxIdleConns = o.Conns * 2
	}
	return c
}

// dialer checks the address that the system is about to connect to, whatever the name resolved to before. It also
// knows the host of the URL, because a permit may name a host.
func (c *Client) dialer(resolver *net.Resolver) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, hostPort string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(hostPort)
		if err != nil {
			return nil, fmt.Errorf("read the host to dial: %w", err)
		}
		d := net.Dialer{Timeout: connectTime, Resolver: resolver, ControlContext: c.guard.control(host)}
		return d.DialContext(ctx, network, hostPort)
	}
}

// Request is a POST to a target.
type Request struct {
	URL    string
	Header http.Header
	Body   []byte
}

// Answer is what a target answered. Redirects are not followed: they are answers without success.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most MaxAnswer bytes
}

// IsSuccess reports whether the target accepted the request.
func (a Answer) IsSuccess() bool { return a.Status >= 200 && a.Status <= 299 }

// Check says by the URL alone whether a target could ever be called, so that a person learns at once what is wrong. It
// resolves nothing: a name that passes may still be refused when it is dialed. The error is a *Refusal.
func (c *Client) Check(target string) error {
	_, err := c.guard.parse(target)
	return err
}

// Post sends a request. Its error is a *Refusal, which no retry changes unless the target's name does, or a *Failure.
func (c *Client) Post(ctx context.Context, r Request) (Answer, error) {
	target, err := c.guard.parse(r.URL)
	if err != nil {
		return Answer{}, err
	}
	if len(r.Body) > MaxBody {
		return Answer{}, &Refusal{Reason: fmt.Sprintf("the body is larger than %d bytes", MaxBody)}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, &Refusal{Reason: "the URL cannot be used"}
	}
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	request.Header.Set("User-Agent", c.agent)
	// A transport follows no redirects; a client would.
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return Answer{}, failed(err)
	}
	defer response.Body.Close()
	// The status decides. If the body breaks off, the request must not be sent again.
	body, _ := io.ReadAll(io.LimitReader(response.Body, MaxAnswer))
	return Answer{Status: response.StatusCode, Header: response.Header, Body: body}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
