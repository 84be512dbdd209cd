package scope

import (
	"hash/maphash"
	"sync"
)

// Limits of the cache: states, and the memory that all of them take.
const (
	cacheStates = 1024
	cacheBytes  = 96 << 20
)

// cache holds what was read of scopes, by scope and plan.
type cache struct {
	mu     sync.Mutex
	states map[string]*State
	bytes  int
	turns  [64]sync.Mutex
}

var turnSeed = maphash.MakeSeed()

// turn is held while a state is read, so that it is not read twice at once. Others may share it.
func (c *cache) turn(name string) *sync.Mutex {
	return &c.turns[maphash.String(turnSeed, name)%uint64(len(c.turns))]
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
		if len(c.states) < cacheStates && c.bytes+s.bytes <= cacheBytes {
			break
		}
		c.drop(other)
	}
	c.states[name] = s
	c.bytes += s.bytes
}

func (c *cache) drop(name string) {
	if old := c.states[name]; old != nil {
		c.bytes -= old.bytes
		delete(c.states, name)
	}
}
