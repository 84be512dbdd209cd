package apikey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// keyLength is the length of every key: its mark and 64 hex digits.
const keyLength = len(productionMark) + 64

// Resolve is the caller behind a presented key, or an Unauthenticated fault
// that does not tell an unknown key from a revoked or expired one. An error of
// the database is no verdict on the key; it is returned, and admits nobody.
//
// This runs once for every request of an agent. The Principal's Scopes are
// shared between calls and must not be changed. Its Role is not set: that is
// the owner's, and not ours to know.
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
	key, err := findByHash(ctx, s.db, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return principal.Principal{}, notValid()
	}
	if err != nil {
		return principal.Principal{}, fmt.Errorf("look up an API key: %w", err)
	}
	status := key.status(now)
	if status != "active" || !secret.SameHash(key.hash, hash[:]) {
		s.logger.InfoContext(ctx, "refused an API key", "key", key.ID, "status", status)
		return principal.Principal{}, notValid()
	}
	found = &cached{caller: key.caller(), expiresAt: key.ExpiresAt, readAt: now}
	s.cache.put(hash, found, emptied)
	s.used.note(key.ID, now)
	return found.caller, nil
}

// standing is the status of the key where it is used.
func (p presentedKey) status(now time.Time) string {
	switch {
	case p.orgClosed:
		return "of a closed organization"
	case p.ownerIsGone && slices.Contains(p.Scopes, principal.CLI):
		return "of a person who left"
	case p.isTurnedOut && slices.Contains(p.Scopes, principal.CLI):
		return "of a terminal from before a new password"
	case p.Limited && !p.isVouched && slices.Contains(p.Scopes, principal.CLI):
		return "of a person whom nobody vouches for any more"
	}
	return p.Status(now)
}

// notValid is the one answer to every key that does not work, so that it tells
// nobody which keys ever did.
func notValid() error { return fault.New(fault.Unauthenticated, "the API key is not valid") }

// wellFormed keeps what was never a key of ours away from the database.
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
		Kind: principal.Key, KeyID: k.ID, UserID: k.OwnerID, OrgID: k.OrgID,
		Scopes: k.Scopes, Product: k.Product, Environment: string(k.Environment), ExpiresAt: k.ExpiresAt,
	}
	if k.Limited {
		p.LimitedTo = k.OrgID
	}
	return p
}
