package outbound

import (
	"io"
	"net/http"
	"net/netip"
)

// MaxDocument is how many bytes of an answer a web client reads.
const MaxDocument = 1 << 20

// WebClient is an http.Client under the same guard, for libraries that want one. It follows no redirects, and an
// answer that is too long ends in an error.
func (c *Client) WebClient() *http.Client {
	return &http.Client{
		Transport:     guardedTransport{c},
		Timeout:       c.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// IsPermitted reports whether the operator permits the host or address of a target by name, so that it may be called
// without TLS.
func (c *Client) IsPermitted(target string) bool {
	_, host, port, err := split(target)
	if err != nil || c.guard.checkHost(host, port) != nil {
		return false
	}
	if c.guard.permitsHost(host, port) {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && c.guard.permitsAddress(address.Unmap(), port, kindOf(address.Unmap()))
}

// guardedTransport checks each request by its URL, and its connection when it is dialed.
type guardedTransport struct{ c *Client }

// RoundTrip sends a request. Its error is a *Refusal or a *Failure.
func (g guardedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := g.c.guard.parse(r.URL.String()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // required of a transport
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", g.c.agent)
	response, err := g.c.transport.RoundTrip(r)
	if err != nil {
		return nil, failed(err)
	}
	response.Body = &bounded{ReadCloser: response.Body, left: MaxDocument}
	return response, nil
}

// bounded is a body that fails when it is longer than it may be.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, &Refusal{Reason: "the answer is too long"}
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n, &Refusal{Reason: "the answer is too long"}
	}
	return n, err
}
