package policy

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/policy/engine"
)

// maxCachedRules bounds the rules of all cached sets together. Beyond it the least recently used set is dropped.
const maxCachedRules = 500_000

// sets caches the compiled set of each organization. A cached set is used only after its version was compared with the
// log's.
type sets struct {
	mu     sync.Mutex
	byOrg  map[string]*list.Element // of *orgSet
	recent *list.List               // the most recently used first
	rules  int                      // of all together
}

// orgSet is what is compiled for an organization. Its users hold its lock, so that it is compiled once while others
// wait.
type orgSet struct {
	orgID   string
	locked  chan struct{} // holds one value while locked, so that lock can also wait for a context
	version audit.Version
	state   string      // of the log's head, when the policies were compared with it
	set     *engine.Set // nil: not compiled yet
	// judged is what the set was made from. Its compiled policies are in parts, even those of a set that failed, so
	// that the next attempt need not compile them again.
	judged
	parts   map[part]*engine.Policy
	shadows []Shadow // not changed once they are published
	rules   int      // guarded by sets.mu

	latest    atomic.Pointer[Snapshot] // published last; read without the lock
	preparing atomic.Bool              // a goroutine compiles the shadows
}

func (o *orgSet) lock(ctx context.Context) error {
	select {
	case o.locked <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.Wrap(ctx.Err(), fault.Unavailable, "the policies are being compiled; try again")
	}
}

func (o *orgSet) unlock() { <-o.locked }

// part is a version of a policy, which never changes.
type part struct {
	policyID string
	version  int
}

func newSets() *sets { return &sets{byOrg: map[string]*list.Element{}, recent: list.New()} }

// of is the set of an organization, which may still be empty.
func (s *sets) of(orgID string) *orgSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if element, ok := s.byOrg[orgID]; ok {
		s.recent.MoveToFront(element)
		return element.Value.(*orgSet)
	}
	o := &orgSet{orgID: orgID, locked: make(chan struct{}, 1), parts: map[part]*engine.Policy{}}
	s.byOrg[orgID] = s.recent.PushFront(o)
	return o
}

// resize notes how many rules a set holds now, and drops the least recently used sets if there are too many.
func (s *sets) resize(o *orgSet, rules int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	element, ok := s.byOrg[o.orgID]
	if !ok || element.Value != o {
		return // dropped meanwhile
	}
	s.rules += rules - o.rules
	o.rules = rules
	for s.rules > maxCachedRules && s.recent.Len() > 1 {
		last := s.recent.Back()
		if last == element {
			return
		}
		dropped := s.recent.Remove(last).(*orgSet)
		delete(s.byOrg, dropped.orgID)
		s.rules -= dropped.rules
	}
}
