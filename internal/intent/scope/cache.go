package scope

import "sync"

// Limits of the cache: states, and outputs of all of them. An output that is parsed takes a few times its size.
const (
	cacheStates  = 1024
	cacheOutputs = 8192
)

// cache holds what was read of scopes, by scope and plan.
type cache struct {
	mu      sync.Mutex
	states  map[string]*State
	outputs int
}

func (c *cache) get(name string) *State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states[name]
}

// put caches a state. A full cache drops arbitrary ones: which of many sessions goes on is unknown.
func (c *cache) put(name string, s *State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil {
		c.states = map[string]*State{}
	}
	c.drop(name)
	for other := range c.states {
		if len(c.states) < cacheStates && c.outputs+len(s.outputs) <= cacheOutputs {
			break
		}
		c.drop(other)
	}
	c.states[name] = s
	c.outputs += len(s.outputs)
}

func (c *cache) drop(name string) {
	if old := c.states[name]; old != nil {
		c.outputs -= len(old.outputs)
		delete(c.states, name)
	}
}
