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
	const each = keptRules / 10
	for i := range 10 {
		s.grown(s.of(fmt.Sprint(i)), each)
	}
	first := s.of("0")
	if len(s.byOrg) != 10 || s.rules != keptRules {
		t.Fatalf("%d sets of %d rules, want 10 and %d", len(s.byOrg), s.rules, keptRules)
	}
	s.grown(s.of("more"), each)
	if _, kept := s.byOrg["1"]; kept || s.of("0") != first || s.rules != keptRules {
		t.Errorf("%d rules are kept, 1 among them: %t; want the least used one forgotten, and no other", s.rules, kept)
	}
	s.grown(first, 0)
	if s.rules != keptRules-each {
		t.Errorf("%d rules after one set shrank, want %d", s.rules, keptRules-each)
	}
	s.grown(first, 3*keptRules)
	if len(s.byOrg) != 1 || s.of("0") != first {
		t.Errorf("%d sets are kept, want the one that alone is too large", len(s.byOrg))
	}
	s.grown(&orgSet{orgID: "forgotten"}, 5)
	if s.rules != 3*keptRules {
		t.Errorf("a set that was forgotten counts: %d", s.rules)
	}
}
