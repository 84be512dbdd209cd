package route

import (
	"context"
	"time"

	"writ/internal/fault"
	"writ/internal/principal"
)

// stopCheck is how often a long answer asks whether the kill switch has stopped its caller.
const stopCheck = time.Second

// Watch gives a context for an answer that takes long. It ends when the caller leaves, when the server stops, and
// within a second after the kill switch has stopped the caller's key. context.Cause says why.
func (s *server) Watch(ctx context.Context, caller principal.Principal) (context.Context, context.CancelFunc) {
	watched, end := context.WithCancelCause(ctx)
	go func() { end(s.untilStopped(watched, caller)) }()
	return watched, func() { end(nil) }
}

// untilStopped waits until an answer to the caller must end, and says why.
func (s *server) untilStopped(ctx context.Context, caller principal.Principal) error {
	var look <-chan time.Time // never, for people: the kill switch stops keys
	if s.Stopped != nil && caller.Kind == principal.Key {
		ticker := time.NewTicker(stopCheck)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-look:
			if err := s.Stopped(ctx, caller); err != nil {
				return err
			}
		case <-s.stopping:
			return fault.New(fault.Unavailable, "the server is stopping")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
