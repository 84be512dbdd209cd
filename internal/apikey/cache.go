package apikey

import (
	"sync"
	"time"

	"writ/internal/principal"
)

const (
	cacheSize = 10_000      // entries
	trustFor  = time.Second // how long the database is not asked again
)

// cache remembers which keys were good a moment ago, by their hash. Keys that
// were not are never remembered, so no caller can fill it with guesses.
type cache struct {
	mu      sync.RWMutex
	entries map[keyHash]*cached
	// emptied counts the calls of empty: a lookup begun before one may have
	// read a key that is revoked by now, and must not be remembered.
	emptied uint64
}

// keyHash is the SHA-256 of a key.
type keyHash [32]byte

// cached is a key that was good when it was read. It is never changed.
type cached struct {
	caller    principal.Principal
	expiresAt *time.Time
	readAt    time.Time // before the database was asked
}

func newCache() *cache { return &cache{entries: map[keyHash]*cached{}} }

// get finds a key that is still to be trusted at now. It also says how often
// the cache was emptied, for put. A clock that was set back ends the trust.
func (c *cache) get(hash keyHash, now time.Time) (found *cached, emptied uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	found = c.entries[hash]
	switch {
	case found == nil,
		now.Before(found.readAt) || now.Sub(found.readAt) >= trustFor,
		found.expiresAt != nil && !now.Before(*found.expiresAt):
		return nil, c.emptied
	}
	return found, c.emptied
}

// put remembers a key, unless the cache was emptied since get. A full cache
// starts anew: its entries live for a second, so choosing among them is not
// worth the bookkeeping.
func (c *cache) put(hash keyHash, entry *cached, emptied uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.emptied != emptied {
		return
	}
	if len(c.entries) >= cacheSize {
		clear(c.entries)
	}
	c.entries[hash] = entry
}

// empty forgets every key, and what is being looked up right now.
func (c *cache) empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emptied++
	clear(c.entries)
}
