package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/secret"
)

// call is a request of the caller while it runs.
type call struct {
	trouble
	sent atomic.Bool // something of it was written to a connection
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// web sends the requests of one session to its server.
type web struct {
	trouble // of what belongs to no call: opening the session, and its own stream
	calls   http.RoundTripper
	streams http.RoundTripper // of what the server sends of its own accord
	home    *url.URL
	header  http.Header // the credentials
	token   func(ctx context.Context) (secret.Text, error)
	spent   func(ctx context.Context, token secret.Text)
	most    int64 // bytes of an answer
	life    context.Context
	drain   time.Duration // see tie
	order   *order
	apart   bool // answers come on the session's stream (SSE), and not with the requests

	standing *standing // nil: the session has no stream of its own, or is one
}

// trouble is what was seen of a server that misbehaves.
type trouble struct {
	mu    sync.Mutex
	found found
}

// found is why an exchange cannot go on. The zero value is no trouble.
type found struct {
	kind   Kind
	reason string // in words for people
	status int    // of the last answer without success
}

func (t *trouble) seen() found {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.found
}

// fail notes why the exchange cannot go on, and gives it as an error. The first reason counts.
func (t *trouble) fail(kind Kind, reason string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found.reason == "" {
		t.found.kind, t.found.reason = kind, reason
	}
	return errors.New(reason)
}

func (t *trouble) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found = found{}
}

// troubleOf is where the trouble of a request is noted: one of a call must not be taken for that of the next.
func (w *web) troubleOf(ctx context.Context) *trouble {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return &c.trouble
	}
	return &w.trouble
}

// RoundTrip sends a request.
func (w *web) RoundTrip(request *http.Request) (*http.Response, error) {
	if w.standing != nil && request.Method == http.MethodGet && request.Header.Get("Last-Event-ID") == "" {
		return w.standing.answer(request, w.life, w.exchange)
	}
	return w.exchange(request)
}

// exchange sends a request. A server may name another address for messages, and gets neither those nor its credentials
// there.
func (w *web) exchange(request *http.Request) (*http.Response, error) {
	t := w.troubleOf(request.Context())
	if request.URL.Scheme != w.home.Scheme || !strings.EqualFold(request.URL.Host, w.home.Host) {
		closeBody(request)
		return nil, t.fail(Broken, "it sends its clients to another address, which is not followed")
	}
	id, err := idOf(request)
	if err != nil {
		return nil, err
	}
	ctx, tied := w.tie(request.Context())
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { c.sent.Store(true) }})
	}
	request = request.Clone(ctx)
	for name, values := range w.header {
		request.Header[name] = values
	}
	token, err := w.present(request, t)
	if err != nil {
		closeBody(request)
		tied.end()
		return nil, err
	}
	// By these net/http takes a request for one that it may send again, and a call must run once.
	request.Header.Del("Idempotency-Key")
	request.Header.Del("X-Idempotency-Key")
	response, err := w.send(request, tied.cancel)
	if err != nil {
		tied.end()
		return nil, err
	}
	tied.loosen(w.drain)
	t.judge(response)
	if response.StatusCode == http.StatusUnauthorized && w.spent != nil && token.IsSet() {
		w.spent(ctx, token)
	}
	response.Body = &bounded{
		ReadCloser: response.Body,
		trouble:    t,
		order:      w.order,
		most:       w.most,
		left:       w.most,
		done:       tied.end,
		stream:     isStream(response),
	}
	if id != nil && isSuccess(response) {
		switch {
		case w.apart:
			return acknowledged(response), nil
		case !isStream(response):
			return t.checked(response, id)
		}
	}
	return response, nil
}

// acknowledged is an answer that says no more than that the request has come, in whatever words. Nobody waits for their
// end: it is read, a little of it, so that the connection can be used again.
func acknowledged(response *http.Response) *http.Response {
	body := response.Body
	go func() {
		_, _ = io.CopyN(io.Discard, body, maxAcknowledgment)
		_ = body.Close() // more than that costs the connection
	}()
	response.Body = http.NoBody
	return response
}

// maxAcknowledgment is how many bytes are read of an answer that says nothing.
const maxAcknowledgment = 4 << 10

// present puts the person's token on a request, where the server wants one.
func (w *web) present(request *http.Request, t *trouble) (secret.Text, error) {
	if w.token == nil {
		return secret.Text{}, nil
	}
	token, err := w.token(request.Context())
	if known, ok := errors.AsType[*fault.Error](err); ok && known.Kind != fault.Internal {
		return secret.Text{}, t.fail(Consent, known.Message)
	}
	if err != nil {
		_ = t.fail(Consent, "the token of the person could not be read: try again")
		return secret.Text{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token.Reveal())
	return token, nil
}

// send sends a request. A stream must open in time, because the SDK waits for it without a limit.
func (w *web) send(request *http.Request, cancel context.CancelFunc) (*http.Response, error) {
	if request.Method == http.MethodGet {
		timer := time.AfterFunc(headerTimeout, cancel)
		defer timer.Stop()
		return w.streams.RoundTrip(request)
	}
	return w.calls.RoundTrip(request)
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // required of a transport
	}
}

func isStream(r *http.Response) bool {
	return strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "text/event-stream")
}

func isSuccess(r *http.Response) bool { return r.StatusCode >= 200 && r.StatusCode <= 299 }

// message is what is read of a message of the protocol.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
}

// idOf is the id of the call that a request makes; nil: it makes none.
func idOf(request *http.Request) (jsontext.Value, error) {
	if request.Body == nil || request.GetBody == nil {
		return nil, nil
	}
	again, err := request.GetBody()
	if err != nil {
		closeBody(request)
		return nil, err
	}
	var m message
	if json.UnmarshalRead(again, &m) != nil || m.Method == "" {
		return nil, nil // the SDK's own answers
	}
	return m.ID, nil
}

// checked reads an answer that is no stream. The SDK would wait for ever where it is about another request.
func (t *trouble) checked(response *http.Response, id jsontext.Value) (*http.Response, error) {
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // it is read
	if err != nil {
		return nil, err
	}
	var m message
	if len(bytes.TrimSpace(text)) > 0 {
		if err := json.Unmarshal(text, &m); err != nil {
			return nil, t.fail(Broken, "its answer is not JSON that everyone reads alike")
		}
		if !bytes.Equal(m.ID, id) {
			return nil, t.fail(Broken, "it answers another request than it was asked")
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, nil
}

// judge keeps the status of an answer without success.
func (t *trouble) judge(response *http.Response) {
	switch status := response.StatusCode; {
	case status >= 300 && status <= 399:
		_ = t.fail(Broken, "it answers with a redirect, which is not followed")
	case status >= 400 && status != http.StatusMethodNotAllowed:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.found.status = status
	}
}

// bounded is an answer that fails when it is longer than it may be. A stream may be longer in all, and not in a minute.
type bounded struct {
	io.ReadCloser
	trouble    *trouble
	most, left int64
	done       func()
	stream     bool
	since      time.Time
	order      *order
	behind     []byte // the end of what was read, for order
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.stream {
		if now := time.Now(); now.Sub(b.since) >= time.Minute {
			b.since, b.left = now, b.most
		}
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.trouble.fail(TooLong, fmt.Sprintf("it sends more than %d bytes", b.most))
	}
	if b.stream && n > 0 {
		b.behind = b.order.watch(b.behind, p[:n])
	}
	return n, err
}

func (b *bounded) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
