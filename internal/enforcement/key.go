package enforcement

import (
	"context"
	"fmt"
	"time"

	"writ/internal/fault"
	"writ/internal/principal"
)

// keyStatus is whether the key of a call is valid. The zero value is not.
type keyStatus struct {
	holder *principal.Principal // the caller behind the key; nil: it is not valid
}

type holderKey struct{ orgID, keyID string }

func (k keyStatus) validAt(now time.Time) bool {
	return k.holder != nil && (k.holder.ExpiresAt == nil || now.Before(*k.holder.ExpiresAt))
}

// loadKey checks the key again, because a request may be sent slowly and a replica caches keys for a moment. The status
// is cached until the log changes, so that no decision follows the log entry that ends its key.
func (s *Service) loadKey(ctx context.Context, c *call, v *view) error {
	key := holderKey{c.by.OrgID, c.by.KeyID}
	if known, ok := s.holders.get(key, v.policies.Version); ok {
		v.key = known
		return nil
	}
	holder, err := s.keys.Holder(ctx, c.by.KeyID)
	if err != nil && !fault.Is(err, fault.Unauthenticated) {
		return fmt.Errorf("check the key of a call: %w", err)
	}
	if err == nil && holder.OrgID == c.by.OrgID {
		v.key.holder = &holder
	}
	s.holders.put(key, v.policies.Version, v.key)
	return nil
}
