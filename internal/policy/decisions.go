package policy

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// MaxTallies bounds how many lines the tally of a plan has.
const MaxTallies = 2_000

// Tally counts the decisions of one plan that are alike.
type Tally struct {
	Step    string // of the plan; empty: none, the call left the plan
	Server  string
	Tool    string
	Verdict verdict.Verdict
	Count   int64
	First   time.Time
	Last    time.Time
}

// PlanTally counts what was decided under a plan of the caller's organization, by
// step, tool and verdict. It asks nobody's leave about the plan: the caller has
// shown that they may see it.
func (s *Service) PlanTally(ctx context.Context, p principal.Principal, planID string) ([]Tally, error) {
	if p.OrgID == "" || planID == "" {
		return nil, fault.New(fault.Forbidden, "decisions belong to an organization")
	}
	tallies, err := database.Collect(ctx, s.db, scanTally, `
		SELECT step, server, tool, verdict, COUNT(*), MIN(decided_at), MAX(decided_at)
		FROM decision
		WHERE org_id = $1 AND plan_id = $2 AND plan_id <> ''
		GROUP BY step, server, tool, verdict
		ORDER BY MIN(decided_at), step, server, tool, verdict
		LIMIT $3`, p.OrgID, planID, MaxTallies)
	if err != nil {
		return nil, fmt.Errorf("count the decisions of plan %s: %w", planID, err)
	}
	return tallies, nil
}

func scanTally(s database.Scanner) (t Tally, err error) {
	var word string
	var first, last int64
	if err := s.Scan(&t.Step, &t.Server, &t.Tool, &word, &t.Count, &first, &last); err != nil {
		return Tally{}, err
	}
	t.First, t.Last = database.Time(first), database.Time(last)
	if t.Verdict, err = verdict.Parse(word); err != nil {
		return Tally{}, fmt.Errorf("verdict of a decision: %w", err)
	}
	return t, nil
}
