package intent

import (
	"sync"

	"writ/internal/intent/plan"
)

// cacheSize is how many plans are remembered. A plan of ten steps takes a few
// kilobytes.
const cacheSize = 4096

// cache remembers plans that calls present, ready to be judged. It holds only
// plans that exist, so no caller can fill it with guesses.
type cache struct {
	mu    sync.RWMutex
	plans map[string]*cached
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
	if len(c.plans) >= cacheSize {
		dropped := 0
		for other := range c.plans {
			delete(c.plans, other)
			if dropped++; dropped == cacheSize/16 {
				break
			}
		}
	}
	c.plans[id] = entry
}
