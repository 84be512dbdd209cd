package decision

import (
	"context"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/verdict"
)

// maxCounted is how many calls of a session are counted at most.
const maxCounted = 100_000

// AllowedIn counts the allowed calls of a session.
func AllowedIn(ctx context.Context, r database.Reader, orgID, sessionID string) (calls int64, err error) {
	calls, err = audit.CountAllowed(ctx, r, audit.LogOf(orgID), sessionID, maxCounted)
	return calls, database.Wrap(err, "count the calls of a session")
}

// MaxTallies is how many tallies a plan has at most.
const MaxTallies = 2_000

// Tally counts the decisions of a plan with the same step, tool and verdict.
type Tally struct {
	Step    string // of the plan; empty: the call was not in it
	Server  string
	Tool    string
	Verdict verdict.Verdict
	Count   int64
	First   time.Time
	Last    time.Time
}

// TallyOf counts the decisions of a plan.
func TallyOf(ctx context.Context, r database.Reader, orgID, planID string) ([]Tally, error) {
	counted, err := audit.TallyOf(ctx, r, audit.LogOf(orgID), planID, MaxTallies)
	if err != nil {
		return nil, fmt.Errorf("count the decisions of plan %s: %w", planID, err)
	}
	tallies := make([]Tally, len(counted))
	for i, c := range counted {
		v, err := verdict.Parse(c.Verdict)
		if err != nil {
			return nil, fmt.Errorf("verdict of a decision: %w", err)
		}
		tallies[i] = Tally{
			Step:    c.Step,
			Server:  c.Server,
			Tool:    c.Tool,
			Verdict: v,
			Count:   c.Count,
			First:   database.Time(c.First),
			Last:    database.Time(c.Last),
		}
	}
	return tallies, nil
}
