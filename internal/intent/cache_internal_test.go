package intent

import (
	"fmt"
	"testing"

	"writ/internal/intent/plan"
)

// TestCacheStaysSmall remembers as many plans as there may be, of any size.
func TestCacheStaysSmall(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int{100, 5000, plan.MaxBytes} {
		c := newCache()
		for i := range 2 * cacheSize {
			id := fmt.Sprint(i)
			c.put(id, &cached{declared: &plan.Declared{Bytes: bytes}, generation: 1})
			if c.get(id) == nil {
				t.Fatalf("plan %d of %d bytes is forgotten at once", i, bytes)
			}
			c.put(id, &cached{declared: &plan.Declared{Bytes: bytes}, generation: 2})
			sum := 0
			for _, known := range c.plans {
				sum += known.declared.Bytes
			}
			if len(c.plans) > cacheSize || sum > cacheBytes || sum != c.bytes {
				t.Fatalf("%d plans of %d bytes, %d in all, counted as %d", len(c.plans), bytes, sum, c.bytes)
			}
		}
		if kept := min(cacheSize, cacheBytes/bytes); len(c.plans) < kept*14/16 {
			t.Errorf("of plans of %d bytes %d are remembered, want about %d", bytes, len(c.plans), kept)
		}
		c.put("0", &cached{declared: &plan.Declared{Bytes: bytes}, generation: 3})
		c.put("0", &cached{declared: &plan.Declared{Bytes: bytes}, generation: 1})
		if known := c.get("0"); known == nil || known.generation != 3 {
			t.Error("an older reading took the place of a later one")
		}
		c.clear()
		if len(c.plans) != 0 || c.bytes != 0 {
			t.Errorf("after all is forgotten: %d plans, %d bytes", len(c.plans), c.bytes)
		}
	}
}
