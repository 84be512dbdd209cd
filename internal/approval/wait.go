package approval

import (
	"context"
	"fmt"
	"time"

	"writ/internal/principal"
)

// MaxWait is how long Wait waits at most.
const MaxWait = 25 * time.Second

// pollInterval is how often other processes' changes are read.
const pollInterval = time.Second

// Wait is Get that waits for an answer. A request that is still pending at the end is
// given as it is.
func (s *Service) Wait(ctx context.Context, p principal.Principal, id string, upTo time.Duration) (Request, error) {
	enough := time.NewTimer(min(max(upTo, 0), MaxWait))
	defer enough.Stop()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		changed := s.Changed(p.OrgID)
		r, err := s.Get(ctx, p, id)
		if err != nil || r.Status != Pending {
			return r, err
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-enough.C:
			return r, nil
		case <-ctx.Done():
			return Request{}, fmt.Errorf("wait for an answer to request %s: %w", id, ctx.Err())
		}
	}
}
