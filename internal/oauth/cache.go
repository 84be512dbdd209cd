package oauth

import (
	"sync"
	"time"

	"writ/internal/audit"
	"writ/internal/principal"
)

const (
	cacheSize = 10_000
	trustFor  = time.Second
)

// cache holds what other areas said of consents a moment ago. It is asked for every call of a client. What ends a key
// or an agent raises the generation of the organization's log, and so is seen at once; what does not, such as a new
// password of the owner, within a second.
type cache struct {
	mu      sync.Mutex
	entries map[string]trusted // by consent
}

// trusted is a caller who might act when it was read.
type trusted struct {
	caller  principal.Principal
	version audit.Version // of the organization's log, read before anything else
	at      time.Time
}

func newCache() *cache { return &cache{entries: map[string]trusted{}} }

// get finds a caller who might act at a version of the log.
func (c *cache) get(consentID string, version audit.Version, now time.Time) (principal.Principal, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.entries[consentID]
	if !ok || t.version != version || now.Before(t.at) || now.Sub(t.at) >= trustFor {
		return principal.Principal{}, false
	}
	return t.caller, true
}

// put remembers a caller. A full cache is cleared: its entries live for a second.
func (c *cache) put(consentID string, t trusted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= cacheSize {
		clear(c.entries)
	}
	c.entries[consentID] = t
}
