package enforcement

import (
	"context"
	"fmt"
	"time"

	"writ/internal/audit"
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
func (s *Service) loadKey(ctx context.Context, c *call, v *view) (err error) {
	v.key, err = s.keyStatusOf(ctx, c.by.OrgID, c.by.KeyID, v.policies.Version)
	return err
}

func (s *Service) keyStatusOf(ctx context.Context, orgID, keyID string, at audit.Version) (status keyStatus,
	err error) {
	key := holderKey{orgID, keyID}
	if known, ok := s.holders.get(key, at); ok {
		return known, nil
	}
	holder, err := s.keys.Holder(ctx, keyID)
	if err != nil && !fault.Is(err, fault.Unauthenticated) {
		return keyStatus{}, fmt.Errorf("check the key of a call: %w", err)
	}
	if err == nil && holder.OrgID == orgID {
		status.holder = &holder
	}
	s.holders.put(key, at, status)
	return status, nil
}
