package intent

import (
	"sync"

	"writ/internal/intent/plan"
)

// How many plans are remembered, and how many bytes of their texts. A plan of ten
// steps has a kilobyte, the largest a quarter of a million, and each takes a few
// times that when it is ready to be judged.
const (
	cacheSize  = 4096
	cacheBytes = 16 << 20
)

// cache remembers plans that calls present, ready to be judged. It holds only
// plans that exist, so no caller can fill it with guesses.
type cache struct {
	mu    sync.RWMutex
	plans map[string]*cached
	bytes int // of the texts of all
}

// cached is a plan as it was read after the generation. It is never changed.
type cached struct {
	declared   *plan.Declared
	generation int64
}

func newCache() *cache { return &cache{plans: map[string]*cached{}} }

// forget drops everything.
func (c *cache) forget() {
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

// put remembers a plan, unless a later reading is remembered. From a full cache
// any few go: which of thousands is used next cannot be told.
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

// makeRoom drops a sixteenth at least, and so many more that the next one fits.
func (c *cache) makeRoom(bytes int) {
	most, room := cacheSize-cacheSize/16, cacheBytes-cacheBytes/16
	for id := range c.plans {
		if len(c.plans) <= most && c.bytes+bytes <= room {
			return
		}
		c.drop(id)
	}
}
