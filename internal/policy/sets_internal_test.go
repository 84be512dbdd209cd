package policy

import (
	"fmt"
	"testing"
)

// TestSetsAreForgotten: what all sets hold together is bounded, and who is asked
// for right now is kept.
func TestSetsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSets()
	const each = maxCachedRules / 10
	for i := range 10 {
		s.resize(s.of(fmt.Sprint(i)), each)
	}
	first := s.of("0")
	if len(s.byOrg) != 10 || s.rules != maxCachedRules {
		t.Fatalf("%d sets of %d rules, want 10 and %d", len(s.byOrg), s.rules, maxCachedRules)
	}
	s.resize(s.of("more"), each)
	if _, kept := s.byOrg["1"]; kept || s.of("0") != first || s.rules != maxCachedRules {
		t.Errorf("%d rules are kept, 1 among them: %t; want the least used one forgotten, and no other", s.rules, kept)
	}
	s.resize(first, 0)
	if s.rules != maxCachedRules-each {
		t.Errorf("%d rules after one set shrank, want %d", s.rules, maxCachedRules-each)
	}
	s.resize(first, 3*maxCachedRules)
	if len(s.byOrg) != 1 || s.of("0") != first {
		t.Errorf("%d sets are kept, want the one that alone is too large", len(s.byOrg))
	}
	s.resize(&orgSet{orgID: "forgotten"}, 5)
	if s.rules != 3*maxCachedRules {
		t.Errorf("a set that was forgotten counts: %d", s.rules)
	}
}
