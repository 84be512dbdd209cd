package enforcement

import (
	"sync"

	"writ/internal/audit"
)

// maxCached is how many values a cache holds.
const maxCached = 16_384

// cache caches values that change only with the version of a log.
type cache[K comparable, V any] struct {
	mu     sync.RWMutex
	values map[K]cached[V]
}

type cached[V any] struct {
	at    audit.Version
	value V
}

// get is the cached value, unless it is older than the version.
func (m *cache[K, V]) get(key K, at audit.Version) (value V, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	known, ok := m.values[key]
	return known.value, ok && known.at.Covers(at)
}

// put caches a value that was read after the version. A full cache is emptied first.
func (m *cache[K, V]) put(key K, at audit.Version, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil || len(m.values) >= maxCached {
		m.values = map[K]cached[V]{}
	}
	if known, ok := m.values[key]; ok && known.at != at && known.at.Covers(at) {
		return
	}
	m.values[key] = cached[V]{at, value}
}
