package route

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"writ/internal/fault"
)

// endless is a feed that is never at its end and whose filter lets nothing through.
type endless struct {
	looks int
	stop  func()
}

func (e *endless) Position() string         { return "1" }
func (e *endless) Changed() <-chan struct{} { return nil }
func (e *endless) Next(ctx context.Context) ([]Event, bool, error) {
	if e.looks++; e.looks == 3 {
		e.stop()
	}
	if e.looks > 10_000 {
		return nil, false, fault.New(fault.Internal, "it was looked for ever")
	}
	return nil, true, ctx.Err()
}

// TestAStreamThatSearchesEnds with the server: its heartbeats and checks come by the
// same way.
func TestAStreamThatSearchesEnds(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	w := httptest.NewRecorder()
	out := &eventStream{w: w, controller: http.NewResponseController(w)}
	err := r.follow(httptest.NewRequest(http.MethodGet, "/", nil), Route{}, out, &endless{stop: r.Stop})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("it ends with %v", err)
	}
}
