// Package tlshttp calls a server by HTTP with TLS for hooks. Like package plainhttp it takes nothing from the
// environment, follows no redirect and uses no proxy; certificates are checked by those that the system trusts.
package tlshttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody bounds what is read of an answer.
const maxBody = 4 << 20

// Caller calls one server with one API key.
type Caller struct {
	base, key string
	http      http.Client
}

// New makes a caller for an address.
func New(address, key string) *Caller {
	return &Caller{
		base: strings.TrimRight(address, "/"),
		key:  key,
		http: http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Call sends a request, with a JSON body unless that is nil, and gives the status and body of the answer.
func (c *Caller) Call(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return 0, nil, errors.New("the server's address is none")
	}
	request.Header.Set("User-Agent", "writ-hook")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("X-API-Key", c.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return 0, nil, fmt.Errorf("hooks do not trust the server's certificate (%w): writ doctor says what to do", refused.Err)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("the server cannot be reached: %w", errors.Unwrap(err))
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return 0, nil, fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	if len(answer) > maxBody {
		return 0, nil, fmt.Errorf("the server's answer has more than %d MiB", maxBody>>20)
	}
	return response.StatusCode, answer, nil
}
