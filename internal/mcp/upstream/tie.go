package upstream

import (
	"context"
	"time"
)

// tie ends a request with its session, and when its caller leaves. Callers leave as soon as they have their answer,
// which is before the end of the stream that brought it: a connection that is cut there cannot be used again. So from
// the answer's first byte on they are followed a little later.
type tie struct {
	caller context.Context
	cancel context.CancelFunc
	// session and left stop following the session and the caller.
	session, left func() bool
}

// tie makes the context of a request, which knows what the caller's knows.
func (w *web) tie(caller context.Context) (context.Context, *tie) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(caller))
	session, left := context.AfterFunc(w.life, cancel), context.AfterFunc(caller, cancel)
	return ctx, &tie{caller: caller, cancel: cancel, session: session, left: left}
}

// loosen gives the answer, which has begun, a time to end in.
func (t *tie) loosen(drain time.Duration) {
	if t.left() {
		t.left = context.AfterFunc(t.caller, func() { time.AfterFunc(drain, t.cancel) })
	}
}

// end is for an answer that has ended.
func (t *tie) end() {
	t.session()
	t.left()
	t.cancel()
}
