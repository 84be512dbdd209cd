package scope_test

import (
	"testing"
	"time"

	"writ/internal/intent/scope"
)

// TestAReportedSessionIsReadAhead: the decision after a report finds the session read. What nobody asked for is not.
func TestAReportedSessionIsReadAhead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.allow("read", "a")
		e.report(nil, "read", "a", "one")
		if _, err := e.service.Load(t.Context(), e.key, planID); err != nil {
			t.Fatal(err)
		}
		e.allow("read", "b")
		e.report(nil, "read", "b", "two")
		now, err := scope.Revision(t.Context(), e.DB, e.key.ID())
		if err != nil {
			t.Fatal(err)
		}
		for waited := 0; e.service.CachedRevision(e.key, planID) != now; waited++ {
			if waited > 60_000 {
				t.Fatal("the session was not read ahead")
			}
			time.Sleep(time.Millisecond)
		}
		if n := e.second.CachedRevision(e.key, planID); n != 0 {
			t.Errorf("a process in which nothing was decided has read revision %d", n)
		}
	})
}
