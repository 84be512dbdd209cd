package approval

import (
	"context"
	"fmt"
	"time"

	"writ/internal/principal"
)

// MaxWait is how long Wait waits at most.
const MaxWait = 25 * time.Second

// lookInterval is how soon what another process did is seen.
const pollInterval = time.Second

// Wait is Get that waits for an answer, for so long at most. A request that still
// waits then is given as it is.
func (s *Service) Wait(ctx context.Context, p principal.Principal, id string, upTo time.Duration) (Request, error) {
	enough := time.NewTimer(min(max(upTo, 0), MaxWait))
	defer enough.Stop()
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		changed := s.Changed(p.OrgID)
		r, err := s.Get(ctx, p, id)
		if err != nil || r.Status != Pending {
			return r, err
		}
		select {
		case <-changed:
		case <-look.C:
		case <-enough.C:
			return r, nil
		case <-ctx.Done():
			return Request{}, fmt.Errorf("wait for an answer to request %s: %w", id, ctx.Err())
		}
	}
}
