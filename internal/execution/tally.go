package execution

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// MaxTallies bounds how many lines the tally of a plan has.
const MaxTallies = 2_000

// Tally counts equal reports about one plan.
type Tally struct {
	Server string
	Tool   string // as the client names it, without the server if that was split off
	Step   int    // as the client counts; -1: not stated
	Status string // Success, Failed, Blocked or Unknown
	Count  int64
}

// PlanTally counts what was reported under a plan of the caller's organization. The edge
// has checked that the caller may see the plan.
func (s *Service) PlanTally(ctx context.Context, p principal.Principal, planID string) ([]Tally, error) {
	if p.OrgID == "" || planID == "" {
		return nil, fault.New(fault.Forbidden, "reports belong to an organization")
	}
	tallies, err := database.Collect(ctx, s.db, func(row database.Scanner) (t Tally, err error) {
		err = row.Scan(&t.Server, &t.Tool, &t.Step, &t.Status, &t.Count)
		return t, err
	}, `
		SELECT server, tool, step, status, COUNT(*)
		FROM execution
		WHERE org_id = $1 AND plan_id = $2 AND plan_id <> ''
		GROUP BY server, tool, step, status
		ORDER BY step, server, tool, status
		LIMIT $3`, p.OrgID, planID, MaxTallies)
	return tallies, database.Wrap(err, "count the reports about plan %s", planID)
}

// reportsSeen bounds how many reports StepsOf reads.
const reportsSeen = 10_000

// StepsOf are the steps of a plan that were reported to have run, ascending, as clients
// count them. The edge has checked that the caller may see the plan.
func (s *Service) StepsOf(ctx context.Context, orgID, planID string) ([]int, error) {
	steps, err := database.Collect(ctx, s.db, func(row database.Scanner) (step int, err error) {
		err = row.Scan(&step)
		return step, err
	}, `
		SELECT DISTINCT step
		FROM (
			SELECT step, status
			FROM execution
			WHERE org_id = $1 AND plan_id = $2 AND plan_id <> ''
			LIMIT $3
		) AS reports
		WHERE step >= 0 AND status <> 'blocked'
		ORDER BY step`, orgID, planID, reportsSeen)
	return steps, database.Wrap(err, "list the steps of plan %s that ran", planID)
}
