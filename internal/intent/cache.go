package intent

import (
	"sync"

	"writ/internal/intent/plan"
)

// Limits of the cache: plans, and bytes of their texts. A plan of ten steps has a
// kilobyte of text, the largest 256; a parsed plan takes a few times as much.
const (
	cacheSize  = 4096
	cacheBytes = 16 << 20
)

// cache holds parsed plans. Only plans that exist are cached, so that no caller can
// fill it with guesses.
type cache struct {
	mu    sync.RWMutex
	plans map[string]*cached
	bytes int // of all texts
}

// cached is a plan as it was read at a generation of the log. It is immutable.
type cached struct {
	declared   *plan.Declared
	generation int64
}

func newCache() *cache { return &cache{plans: map[string]*cached{}} }

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.plans)
	c.bytes = 0
}

func (c *cache) get(id string) *cached {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.plans[id]
}

// put caches a plan, unless a newer version is cached. A full cache drops arbitrary
// plans: which of thousands is used next is unknown.
func (c *cache) put(id string, entry *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.plans[id]; known != nil && known.generation > entry.generation {
		return
	}
	c.drop(id)
	if len(c.plans) >= cacheSize || c.bytes+entry.declared.Bytes > cacheBytes {
		c.makeRoom(entry.declared.Bytes)
	}
	c.plans[id] = entry
	c.bytes += entry.declared.Bytes
}

func (c *cache) drop(id string) {
	if known := c.plans[id]; known != nil {
		c.bytes -= known.declared.Bytes
		delete(c.plans, id)
	}
}

// makeRoom drops at least a sixteenth, and more until the next plan fits.
func (c *cache) makeRoom(bytes int) {
	most, room := cacheSize-cacheSize/16, cacheBytes-cacheBytes/16
	for id := range c.plans {
		if len(c.plans) <= most && c.bytes+bytes <= room {
			return
		}
		c.drop(id)
	}
}
