package scope

import (
	"context"
	"time"
)

// aheadLimit is how long reading ahead may take.
const aheadLimit = time.Second

// readAhead reads a scope again that a decision has read before, so that the session's next decision need not: it
// comes in a moment, and a person waits for it. One scope is read at a time. A decision that comes first, or after
// an error, reads by itself, and each compares the revision, so nothing depends on this.
func (s *Service) readAhead(id, planID string) {
	if s.cache.get(id+"/"+planID) == nil || !s.ahead.TryLock() {
		return
	}
	go func() {
		defer s.ahead.Unlock()
		defer func() { _ = recover() }() // of parsing what tools returned: the decision that reads it says what failed
		ctx, cancel := context.WithTimeout(context.Background(), aheadLimit)
		defer cancel()
		_, _ = s.load(ctx, id, planID)
	}()
}
