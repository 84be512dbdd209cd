package apikey

import (
	"sync"
	"time"

	"writ/internal/principal"
)

const (
	cacheSize = 10_000      // entries
	trustFor  = time.Second // how long an entry is valid
)

// cache holds keys that were valid a moment ago, by their hash. Invalid ones are
// never cached, so nobody can fill it with guesses.
type cache struct {
	mu      sync.RWMutex
	entries map[keyHash]*cached
	// emptied counts the calls of empty: a lookup that began before one may have
	// read a key that has been revoked since, and must not be cached.
	emptied uint64
}

// keyHash is the SHA-256 of a key.
type keyHash [32]byte

// cached is a key that was valid when it was read. It is never changed.
type cached struct {
	caller    principal.Principal
	expiresAt *time.Time
	readAt    time.Time // before the database was asked
}

func newCache() *cache { return &cache{entries: map[keyHash]*cached{}} }

// get finds an entry that is valid at now, also if the clock was set back. The second
// result is for put.
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

// put adds a key, unless the cache was emptied since get. A full cache is cleared:
// its entries live for a second, so choosing among them is not worth the effort.
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

// empty drops every key, and those that are being looked up right now.
func (c *cache) empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emptied++
	clear(c.entries)
}
