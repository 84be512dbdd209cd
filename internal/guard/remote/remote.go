// Package remote is the Writ server as an enforcement proxy in a process of its own sees it.
//
// The proxy keeps nothing but what it works on: every question about who may do what goes to the server, with the
// proxy's token and the credential of the agent that it works for. While the server is away nothing is answered, so
// that nothing passes.
package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/fault"
	"writ/internal/guard/message"
	"writ/internal/secret"
)

const (
	// questionTime is how long the server may take to answer a question.
	questionTime = 20 * time.Second
	maxAnswer    = 64 << 20
	maxConns     = 256
)

// Options are what a proxy needs to reach its server.
type Options struct {
	URL    *url.URL
	Token  secret.Text // the proxy's own
	Logger *slog.Logger
}

// Server is the Writ server. A process needs one.
type Server struct {
	Options
	web    *http.Client
	agents agents

	mu      sync.Mutex
	reports map[string]string       // the tokens of what is to be reported, by decision
	listed  map[list]*listedServers // as they were read last
}

// New makes a Server. Close it.
func New(o Options) *Server {
	transport := &http.Transport{
		Proxy:               nil, // what is sent is secret
		MaxIdleConns:        maxConns,
		MaxIdleConnsPerHost: maxConns,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
	}
	return &Server{
		Options: o,
		web: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		reports: map[string]string{},
		listed:  map[list]*listedServers{},
	}
}

// Close closes the connections.
func (s *Server) Close() { s.web.CloseIdleConnections() }

// away is the fault of a server that gives no answer. Agents read it.
func away(cause error) error {
	f := fault.Wrap(cause, fault.Unavailable,
		"the Writ server that this proxy belongs to cannot be reached: nothing passes until it can")
	f.RetryAfter = 5 * time.Second
	return f
}

// question is a request to the server.
type question struct {
	method, path string
	query        url.Values
	header       http.Header
	body         any // nil: none
	time         time.Duration
}

// ask asks the server, and reads its answer.
func (s *Server) ask(ctx context.Context, q question, answer any) error {
	if q.time == 0 {
		q.time = questionTime
	}
	ctx, cancel := context.WithTimeout(ctx, q.time)
	defer cancel()
	request, err := s.request(ctx, q)
	if err != nil {
		return err
	}
	response, err := s.web.Do(request)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return context.Cause(ctx) // whoever asked has gone
		}
		return away(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return away(err)
	case len(text) > maxAnswer:
		return away(errors.New("its answer is too long"))
	case response.StatusCode == http.StatusOK:
		if err := json.Unmarshal(text, answer); err != nil {
			return away(errors.New("its answer cannot be read"))
		}
		return nil
	}
	return s.refusal(ctx, response.StatusCode, text)
}

func (s *Server) request(ctx context.Context, q question) (*http.Request, error) {
	at := s.URL.JoinPath(q.path)
	at.RawQuery = q.query.Encode()
	var body io.Reader
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "the request cannot be written as JSON")
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, q.method, at.String(), body)
	if err != nil {
		return nil, away(err)
	}
	for name, values := range q.header {
		request.Header[name] = values
	}
	request.Header.Set("Authorization", "Bearer "+s.Token.Reveal())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "writ-proxy")
	return request, nil
}

// kinds are what the statuses of refusals mean.
var kinds = map[int]fault.Kind{
	http.StatusBadRequest: fault.Invalid, http.StatusForbidden: fault.Forbidden, http.StatusNotFound: fault.NotFound,
	http.StatusConflict: fault.Conflict, http.StatusRequestEntityTooLarge: fault.TooLarge,
	http.StatusUnprocessableEntity: fault.Invalid, http.StatusTooManyRequests: fault.TooMany,
}

// refusal is why the server did not answer a question. What is no answer of a Writ server is none.
func (s *Server) refusal(ctx context.Context, status int, text []byte) error {
	var said struct {
		Status  int    `json:"statusCode"`
		Message string `json:"message"`
	}
	readable := json.Unmarshal(text, &said) == nil && said.Status == status && said.Message != ""
	if status == http.StatusUnauthorized && readable {
		s.Logger.ErrorContext(ctx, "the Writ server refuses WRIT_PROXY_TOKEN: it must be the same on both sides",
			"server", s.URL.Redacted())
		f := fault.New(fault.Unavailable, "the Writ server does not know this proxy: nothing passes until it does")
		f.RetryAfter = 30 * time.Second
		return f
	}
	kind, known := kinds[status]
	if !known || !readable {
		return away(errors.New("it answers with status " + strconv.Itoa(status)))
	}
	return fault.New(kind, "%s", said.Message)
}

// Ready reports whether the server answers and knows this proxy.
func (s *Server) Ready(ctx context.Context) error {
	var answer message.ProxyCaller
	return s.ask(ctx, question{method: http.MethodGet, path: "/proxy/guard/caller", time: 2 * time.Second}, &answer)
}
