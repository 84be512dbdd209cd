package approvals

import "testing"

func TestOpenPolls(t *testing.T) {
	t.Parallel()
	o := newPolls()
	var leaves []func()
	for n := range pollsPerKey {
		leave, may := o.Take("a")
		if !may {
			t.Fatalf("poll %d may not wait", n)
		}
		leaves = append(leaves, leave)
	}
	if _, may := o.Take("a"); may {
		t.Error("one too many may wait")
	}
	other, may := o.Take("b")
	if !may {
		t.Error("another key may not wait")
	}
	leaves[0]()
	again, may := o.Take("a")
	if !may {
		t.Error("when one has left, the next may not wait")
	}
	for _, leave := range append(leaves[1:], other, again) {
		leave()
	}
	if o.Used() != 0 {
		t.Errorf("all have left, and %d polls are counted", o.Used())
	}
	for n := range pollsAtAll {
		if _, may := o.Take(string(rune('a' + n))); !may {
			t.Fatalf("poll %d of all may not wait", n)
		}
	}
	if _, may := o.Take("z"); may {
		t.Error("there are too many of all, and another may wait")
	}
}
