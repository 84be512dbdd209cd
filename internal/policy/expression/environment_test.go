package expression

import (
	"sync"
	"testing"
)

// TestAFreshEnvironmentIsShared has the race detector look at the first uses of
// environments: a name that is not known, beside a condition with a scope.
func TestAFreshEnvironmentIsShared(t *testing.T) {
	t.Parallel()
	for range 20 {
		env, err := newEnvironment()
		if err != nil {
			t.Fatal(err)
		}
		var uses sync.WaitGroup
		for _, text := range []string{"nobody()", "args.list.exists(x, [x].all(y, y == 1))"} {
			uses.Go(func() {
				parsed, issues := env.Parse(text)
				if issues.Err() != nil {
					t.Error(issues.Err())
					return
				}
				env.Check(parsed)
			})
		}
		uses.Wait()
	}
}
