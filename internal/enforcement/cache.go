package enforcement

import "sync"

// stamp is a state of an organization's log.
type stamp struct{ generation, epoch int64 }

// covers reports whether what was read at s is as new as other.
func (s stamp) covers(other stamp) bool {
	return s.epoch == other.epoch && s.generation >= other.generation
}

// kept is how many values a memory holds.
const maxCached = 4096

// memory remembers values that change only with the generation of a log.
type cache[K comparable, V any] struct {
	mu     sync.RWMutex
	values map[K]cached[V]
}

type cached[V any] struct {
	at    stamp
	value V
}

// get is the value as of a stamp or later.
func (m *cache[K, V]) get(key K, at stamp) (value V, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	known, ok := m.values[key]
	return known.value, ok && known.at.covers(at)
}

// put remembers a value that was read after the stamp. A full memory is emptied:
// it fills again within as many calls.
func (m *cache[K, V]) put(key K, at stamp, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil || len(m.values) >= maxCached {
		m.values = map[K]cached[V]{}
	}
	if known, ok := m.values[key]; ok && known.at.epoch == at.epoch && known.at.generation > at.generation {
		return
	}
	m.values[key] = cached[V]{at, value}
}
