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

// keptRules bounds what all compiled sets of a process hold together, in rules.
// An organization beyond it is compiled again when it is asked for.
const keptRules = 500_000

// sets remembers the compiled set of each organization. What is remembered is
// never trusted before its generation was compared with the log's.
type sets struct {
	mu     sync.Mutex
	byOrg  map[string]*list.Element // of *orgSet
	recent *list.List               // the most recently used first
	rules  int                      // of all together
}

// orgSet is what is compiled for an organization. Whoever uses it holds its turn:
// those who come while it is made wait for it, and do not make it again.
type orgSet struct {
	orgID   string
	turn    chan struct{} // holds one while somebody has it
	version audit.Version
	set     *engine.Set // nil: not made yet
	// judged is what the set was made of, without the compiled policies, which are
	// in parts. What was compiled for a set that then failed is kept there too, so
	// that the next try goes on from it.
	judged
	parts   map[part]*engine.Policy
	shadows []Shadow // never changed once they are given out
	rules   int      // guarded by sets.mu
	// latest is what was given last, for who does not wait for a turn.
	latest atomic.Pointer[Snapshot]
	// preparing: somebody makes the shadows.
	preparing atomic.Bool
}

// lock waits for the turn.
func (o *orgSet) lock(ctx context.Context) error {
	select {
	case o.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.Wrap(ctx.Err(), fault.Unavailable, "the policies are being compiled; try again")
	}
}

func (o *orgSet) unlock() { <-o.turn }

// part is a version of a policy: what is compiled of it never changes.
type part struct {
	policyID string
	version  int
}

func newSets() *sets { return &sets{byOrg: map[string]*list.Element{}, recent: list.New()} }

// of is the place of an organization's set.
func (s *sets) of(orgID string) *orgSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if element, ok := s.byOrg[orgID]; ok {
		s.recent.MoveToFront(element)
		return element.Value.(*orgSet)
	}
	o := &orgSet{orgID: orgID, turn: make(chan struct{}, 1), parts: map[part]*engine.Policy{}}
	s.byOrg[orgID] = s.recent.PushFront(o)
	return o
}

// grown tells that a set came to hold more or fewer rules, and forgets the sets
// that were not used for longest when all together are too many.
func (s *sets) grown(o *orgSet, rules int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	element, ok := s.byOrg[o.orgID]
	if !ok || element.Value != o {
		return // forgotten meanwhile
	}
	s.rules += rules - o.rules
	o.rules = rules
	for s.rules > keptRules && s.recent.Len() > 1 {
		last := s.recent.Back()
		if last == element {
			return
		}
		forgotten := s.recent.Remove(last).(*orgSet)
		delete(s.byOrg, forgotten.orgID)
		s.rules -= forgotten.rules
	}
}
