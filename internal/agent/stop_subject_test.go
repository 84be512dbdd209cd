package agent_test

import (
	"context"
	"errors"
	"testing"

	"writ/internal/agent"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// TestAStopHoldsWhateverTheLookUpDoes: whether anybody has seen the name of what was stopped is said for convenience.
// Where that cannot be found out, or takes long, the stop is answered and holds, and nothing is said.
func TestAStopHoldsWhateverTheLookUpDoes(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		org := e.Organization("Here")
		owner := e.NewPerson(org, principal.Owner)
		for name, lookUp := range map[string]func(context.Context) (bool, error){
			"nothing is found": func(context.Context) (bool, error) { return false, nil },
			"it fails":         func(context.Context) (bool, error) { return false, errors.New("it is away") },
			"it does not end": func(ctx context.Context) (bool, error) {
				<-ctx.Done()
				return false, ctx.Err()
			},
		} {
			agents := agent.New(e.DB, e.Log, agent.Sources{
				Role: func(context.Context, database.Reader, string, string) (principal.Role, error) {
					return principal.Owner, nil
				},
				Lists: func(ctx context.Context, _ database.Reader, _ string, _, _ []string) (bool, error) {
					return lookUp(ctx)
				},
			})
			stop, err := agents.Kill(t.Context(), owner, agent.OfServer, name, "r", nil)
			if err != nil || stop.Unseen != (name == "nothing is found") {
				t.Errorf("%s: unseen %t, %v", name, stop.Unseen, err)
			}
			stops, err := agents.Stops(t.Context(), owner)
			if err != nil || len(stops) == 0 || stops[0].Subject != name {
				t.Errorf("%s: %+v, %v", name, stops, err)
			}
		}
	})
}
