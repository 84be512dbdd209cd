package api

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

func (e *endless) place() string            { return "1" }
func (e *endless) changed() <-chan struct{} { return nil }
func (e *endless) next(ctx context.Context) ([]feedEvent, bool, error) {
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
	a := &API{}
	a.ready.begun = make(chan struct{})
	out := &eventStream{w: &slowReader{}, controller: http.NewResponseController(&slowReader{})}
	err := a.follow(httptest.NewRequest(http.MethodGet, "/", nil), Route{}, out, &endless{
		stop: func() { close(a.ready.begun) },
	})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("it ends with %v", err)
	}
}
