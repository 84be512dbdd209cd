package enforcement

import (
	"context"
	"fmt"
	"time"

	"writ/internal/fault"
)

// standing is how the key of a call stands. The zero value is no good.
type keyStatus struct {
	good    bool
	expires *time.Time // nil: never
}

// holderKey finds a standing: the stamp it is as of is that of the organization.
type holderKey struct{ orgID, keyID string }

func (s keyStatus) goodAt(now time.Time) bool {
	return s.good && (s.expires == nil || now.Before(*s.expires))
}

// standingOf looks again whether the key is good: it was when the request began,
// but a request may be sent slowly, and a replica trusts a key for a moment. Like
// all a call is judged by, it is remembered until the log says that something
// changed, so that no decision follows the entry of its key's end.
func (s *Service) standingOf(ctx context.Context, c *call, at stamp) (keyStatus, error) {
	key := holderKey{c.by.OrgID, c.by.KeyID}
	if known, ok := s.holders.get(key, at); ok {
		return known, nil
	}
	holder, err := s.keys.Holder(ctx, c.by.KeyID)
	if err != nil && !fault.Is(err, fault.Unauthenticated) {
		return keyStatus{}, fmt.Errorf("look at the key of a call: %w", err)
	}
	found := keyStatus{good: err == nil && holder.OrgID == c.by.OrgID, expires: holder.ExpiresAt}
	s.holders.put(key, at, found)
	return found, nil
}
