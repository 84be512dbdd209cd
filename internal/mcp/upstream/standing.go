package upstream

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// standing is the stream of a session for what its server sends of its own accord. It is opened when somebody listens:
// an open one holds a connection for as long as the session lives. Until then the SDK has one on which nothing comes.
type standing struct {
	wanted chan struct{} // closed when somebody listens
	opened chan struct{} // closed when the stream is open after that, or cannot be opened
	want   sync.Once
	settle sync.Once
	asked  atomic.Bool // the SDK wants one of this server
}

func newStanding() *standing {
	return &standing{wanted: make(chan struct{}), opened: make(chan struct{})}
}

// listen has the stream opened.
func (s *standing) listen() { s.want.Do(func() { close(s.wanted) }) }

func (s *standing) isWanted() bool {
	select {
	case <-s.wanted:
		return true
	default:
		return false
	}
}

// settled notes that the stream is open, or that it cannot be opened.
func (s *standing) settled() { s.settle.Do(func() { close(s.opened) }) }

// await waits until a stream that somebody wants is open: what the server sends while it is asked must not be missed.
func (s *standing) await(ctx context.Context) {
	if s == nil || !s.asked.Load() || !s.isWanted() {
		return
	}
	select {
	case <-s.opened:
		return
	default:
	}
	timer := time.NewTimer(headerTimeout)
	defer timer.Stop()
	select {
	case <-s.opened:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// answer answers a request for the stream, which is opened by send, if not now, when somebody listens.
func (s *standing) answer(
	request *http.Request, life context.Context, send func(*http.Request) (*http.Response, error),
) (*http.Response, error) {
	s.asked.Store(true)
	if s.isWanted() {
		defer s.settled()
		return send(request)
	}
	body := &quiet{stream: s, ctx: request.Context(), life: life}
	body.send = func() (*http.Response, error) { return send(request) }
	return &http.Response{
		Status:     "200 OK",
		StatusCode: http.StatusOK,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       body,
		Request:    request,
	}, nil
}

// quiet is a stream on which nothing comes until somebody listens, and then what the server sends.
type quiet struct {
	stream    *standing
	ctx, life context.Context
	send      func() (*http.Response, error)

	mu     sync.Mutex
	body   io.ReadCloser // of the real one; nil: it is not open
	failed error         // why it cannot be read
}

// Read waits until somebody listens, and reads what comes then.
func (q *quiet) Read(p []byte) (int, error) {
	body, err := q.current()
	if body == nil && err == nil {
		select {
		case <-q.stream.wanted:
			body, err = q.begin()
		case <-q.ctx.Done():
			err = q.ctx.Err()
		case <-q.life.Done():
			err = q.life.Err()
		}
	}
	if err != nil {
		return 0, err
	}
	return body.Read(p)
}

func (q *quiet) current() (io.ReadCloser, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.body, q.failed
}

// begin opens the stream. One that the server does not have is one on which nothing comes: the SDK takes it so too.
func (q *quiet) begin() (io.ReadCloser, error) {
	defer q.stream.settled()
	response, err := q.send()
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case err != nil:
		q.failed = err
	case q.failed != nil: // it was closed meanwhile
		_ = response.Body.Close()
	case !isSuccess(response) || !isStream(response):
		_ = response.Body.Close() // nothing is read of it
		q.body = silence{q.ctx, q.life}
	default:
		q.body = response.Body
	}
	return q.body, q.failed
}

// Close ends it.
func (q *quiet) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed == nil {
		q.failed = io.ErrClosedPipe
	}
	if q.body == nil {
		return nil
	}
	return q.body.Close()
}

// silence is a stream on which nothing comes until a context ends.
type silence struct{ ctx, life context.Context }

// Read waits for the end.
func (s silence) Read([]byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-s.life.Done():
		return 0, s.life.Err()
	}
}

// Close does nothing.
func (silence) Close() error { return nil }
