package enforcement_test

import (
	"testing"

	"writ/internal/intent/grounding"
	"writ/internal/verdict"
)

// TestALongObservedSessionIsFollowedNoFurther: once outputs were dropped no other one grounds anything, so that an
// organization that only observes stores no more of them.
func TestALongObservedSessionIsFollowedNoFurther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent, `{"goal":"read","steps":[{"action":"read","mcp":"fs"}]}`)
		for range grounding.MaxOutputs + 9 {
			want(t, e.decide(planned(shown, "read", `{"path":"a"}`)), verdict.Allow, "", "")
		}
		if n := e.count(`known_output`); n != grounding.MaxOutputs+1 {
			t.Errorf("%d calls are followed, want %d", n, grounding.MaxOutputs+1)
		}
	})
}
