package apikey

import (
	"context"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// keyLength is the length of every key: its mark and 64 hex digits.
const keyLength = len(productionMark) + 64

// Resolve gives the caller behind a presented key. The fault of every key that does
// not work is the same.
//
// It runs for every request of an agent. The Principal's Scopes are shared between
// calls and must not be changed. Its Role is not set: package organization knows it.
func (s *Service) Resolve(ctx context.Context, presented string) (principal.Principal, error) {
	if !wellFormed(presented) {
		return principal.Principal{}, notValid()
	}
	hash := keyHash(secret.Hash(presented))
	now := s.db.Now()
	found, emptied := s.cache.get(hash, now)
	if found != nil {
		return found.caller, nil
	}
	key, err := findPresented(ctx, s.db, `k.hash = $1`, hash[:])
	if err != nil {
		return principal.Principal{}, err
	}
	status := key.status(now)
	if key.Hidden {
		status = "hidden"
	}
	if status != "active" || !secret.SameHash(key.hash, hash[:]) {
		s.logger.InfoContext(ctx, "refused an API key", "key", key.ID, "status", status)
		return principal.Principal{}, notValid()
	}
	found = &cached{caller: key.caller(), expiresAt: key.ExpiresAt, readAt: now}
	s.cache.put(hash, found, emptied)
	s.used.note(key.ID, now)
	return found.caller, nil
}

// Holder gives the caller behind a key that a plan's token or an OAuth client's names:
// some clients send no key beside a plan's token. The key must still be active.
func (s *Service) Holder(ctx context.Context, keyID string) (principal.Principal, error) {
	if !database.IsID(keyID) {
		return principal.Principal{}, notValid()
	}
	caller, err := holder(ctx, s.db, keyID, s.db.Now())
	if err == nil {
		s.used.note(keyID, s.db.Now())
	}
	return caller, err
}

// requireActive refuses a calling key that has ended since it was presented: a key
// that it makes would outlive it, and escape what ended it.
func requireActive(ctx context.Context, tx *database.Tx, p principal.Principal) error {
	if p.Kind != principal.Key {
		return nil
	}
	if _, err := holder(ctx, tx, p.KeyID, tx.Now()); err != nil {
		return err
	}
	return refuseStopped(ctx, tx, p.KeyID)
}

// Ended reports whether a key is accepted no more, within a change.
func Ended(ctx context.Context, tx *database.Tx, keyID string) (bool, error) {
	_, err := holder(ctx, tx, keyID, tx.Now())
	if fault.Is(err, fault.Unauthenticated) {
		return true, nil
	}
	return false, err
}

func holder(ctx context.Context, r database.Reader, keyID string, now time.Time) (principal.Principal, error) {
	key, err := findPresented(ctx, r, `k.id = $1`, keyID)
	if err != nil {
		return principal.Principal{}, err
	}
	if key.status(now) != "active" {
		return principal.Principal{}, notValid()
	}
	return key.caller(), nil
}

// status is Key.Status, also in view of its organization and owner.
func (p presentedKey) status(now time.Time) string {
	endsWithSignIn := slices.Contains(p.Scopes, principal.CLI) || p.Hidden // ends as a sign-in does
	switch {
	case p.orgClosed:
		return "of a closed organization"
	case p.ownerDeleted: // one that was made while the account was being deleted
		return "of a person who has no account any more"
	case endsWithSignIn && p.ownerLeft:
		return "of a person who left"
	case endsWithSignIn && p.passwordChanged:
		return "of a terminal from before a new password"
	case endsWithSignIn && p.Limited && !p.vouched:
		return "of a person whom nobody vouches for any more"
	case p.Hidden && !p.ownerRole.May(principal.OwnKeys):
		return "of a person who may have no keys any more"
	}
	return p.Status(now)
}

// notValid is the one answer to every key that does not work, so that it does not
// reveal which keys ever did.
func notValid() error { return fault.New(fault.Unauthenticated, "the API key is not valid") }

// wellFormed reports whether text has the form of a key. Other text never reaches the
// database.
func wellFormed(presented string) bool {
	if len(presented) != keyLength {
		return false
	}
	if !strings.HasPrefix(presented, productionMark) && !strings.HasPrefix(presented, sandboxMark) {
		return false
	}
	for _, c := range []byte(presented[len(productionMark):]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (k Key) caller() principal.Principal {
	p := principal.Principal{
		Kind:        principal.Key,
		KeyID:       k.ID,
		UserID:      k.OwnerID,
		OrgID:       k.OrgID,
		Scopes:      k.Scopes,
		Product:     k.Product,
		Environment: string(k.Environment),
		ExpiresAt:   k.ExpiresAt,
	}
	if k.Limited {
		p.LimitedTo = k.OrgID
	}
	return p
}
