package api

import "testing"

func TestOpenPolls(t *testing.T) {
	t.Parallel()
	var o openPolls
	var leaves []func()
	for n := range pollsPerKey {
		leave, may := o.enter("a")
		if !may {
			t.Fatalf("poll %d may not wait", n)
		}
		leaves = append(leaves, leave)
	}
	if _, may := o.enter("a"); may {
		t.Error("one too many may wait")
	}
	other, may := o.enter("b")
	if !may {
		t.Error("another key may not wait")
	}
	leaves[0]()
	again, may := o.enter("a")
	if !may {
		t.Error("when one has left, the next may not wait")
	}
	for _, leave := range append(leaves[1:], other, again) {
		leave()
	}
	if o.all != 0 || len(o.keys) != 0 {
		t.Errorf("all have left, and %d polls of %d keys are counted", o.all, len(o.keys))
	}
	for n := range pollsAtAll {
		if _, may := o.enter(string(rune('a' + n))); !may {
			t.Fatalf("poll %d of all may not wait", n)
		}
	}
	if _, may := o.enter("z"); may {
		t.Error("there are too many of all, and another may wait")
	}
}
