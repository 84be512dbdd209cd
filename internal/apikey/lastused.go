package apikey

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"writ/internal/database"
)

// flushSlice is how many keys one change updates, so that it holds the writer for
// milliseconds only.
const flushSlice = 100

// lastUsed holds the last uses of keys until they are written. Resolve notes a key
// when it reads it from the database: about once a second, not for every request.
type lastUsed struct {
	mu sync.Mutex
	at map[string]time.Time // by id of the key
}

// note keeps the later of two instants.
func (u *lastUsed) note(id string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[string]time.Time{}
	}
	if at.After(u.at[id]) {
		u.at[id] = at
	}
}

// take gives the uses and clears them.
func (u *lastUsed) take() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.at
	u.at = nil
	return taken
}

// FlushLastUsed writes the last uses of keys. The app calls it every few seconds and
// when it stops. After an error everything is kept for the next call.
func (s *Service) FlushLastUsed(ctx context.Context) error {
	pending := s.used.take()
	// Sorted, so that replicas lock rows in one order.
	ids := slices.Sorted(maps.Keys(pending))
	for slice := range slices.Chunk(ids, flushSlice) {
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			return updateLastUsed(ctx, tx, slice, pending)
		}})
		if err != nil {
			for id, at := range pending {
				s.used.note(id, at)
			}
			return fmt.Errorf("write when keys were last used: %w", err)
		}
	}
	return nil
}
