package outbound

import "net/http"

// Stream is a transport under the same guard, for protocols whose answers arrive in parts: the address is
// judged for each request and when it is dialed, and nothing is followed. The caller limits how long and how
// much it reads.
func (c *Client) Stream() http.RoundTripper { return streamTransport{c} }

type streamTransport struct{ c *Client }

// RoundTrip sends a request. Its error is a *Refusal or a *Failure.
func (s streamTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := s.c.guard.parse(r.URL.String()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // required of a transport
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", s.c.agent)
	response, err := s.c.transport.RoundTrip(r)
	if err != nil {
		return nil, failed(err)
	}
	return response, nil
}
