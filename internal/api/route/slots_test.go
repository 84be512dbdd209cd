package route

import "testing"

// TestSlots: they are limited by person, by organization and in total, and the zero value has none.
func TestSlots(t *testing.T) {
	t.Parallel()
	slots := &Slots{}
	enter := func(user, org string, may bool) (leave func()) {
		t.Helper()
		leave, ok := slots.Take(user, org)
		if may != ok {
			t.Errorf("%s in %s: let in %v, want %v", user, org, ok, may)
		}
		return leave
	}
	enter("ada", "acme", false)
	slots.Each, slots.Total = []int{2, 3}, 4
	first := enter("ada", "acme", true)
	enter("ada", "globex", true)
	enter("ada", "acme", false) // a third of one person
	enter("bob", "acme", true)
	enter("eve", "acme", true)
	enter("bob", "acme", false) // a fourth of one organization
	enter("bob", "globex", false)
	first()
	enter("bob", "acme", true) // there is room again
	enter("sue", "initech", false)
	if slots.Used() != 4 {
		t.Errorf("%d slots are used", slots.Used())
	}
}

// TestSlotsAreReturned: when all have left, nothing is counted.
func TestSlotsAreReturned(t *testing.T) {
	t.Parallel()
	slots := &Slots{Each: []int{2}, Total: 3}
	var leave []func()
	for _, holder := range []string{"a", "a", "b"} {
		release, ok := slots.Take(holder)
		if !ok {
			t.Fatalf("%s has no slot", holder)
		}
		leave = append(leave, release)
	}
	for _, release := range leave {
		release()
	}
	if slots.Used() != 0 || len(slots.held) != 0 {
		t.Errorf("all have left, and %d slots of %d holders are counted", slots.used, len(slots.held))
	}
}
