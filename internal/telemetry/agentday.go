package telemetry

import (
	"context"
	"fmt"

	"writ/internal/database"
)

// AgentDay is what an agent did, by the id that clients send.
type AgentDay struct {
	Today Verdicts  // since 00:00 UTC
	Hours [24]int64 // decisions of each of the last hours, the present one last
	Usage *Usage    // since 00:00 UTC; nil: nothing was reported
}

// AgentDays reads what agents did, in two queries by key for all of them.
func (s *Service) AgentDays(ctx context.Context, orgID string, ids []string) (map[string]AgentDay, error) {
	days := map[string]AgentDay{}
	if len(ids) == 0 {
		return days, nil
	}
	named := map[string]string{} // ids by what they are counted by
	items := make([]any, len(ids))
	for i, id := range ids {
		named[countable(id)], items[i] = id, countable(id)
	}
	now := floor(database.Micros(s.db.Now()), hourMicros)
	first, midnight := now-int64(len(AgentDay{}.Hours))+1, floor(now, 24)*24
	err := each(ctx, s.db, func(row database.Scanner) error {
		var item string
		var hour int64
		var v Verdicts
		if err := row.Scan(&item, &hour, &v.Allowed, &v.Asked, &v.Held, &v.Denied); err != nil {
			return err
		}
		day := days[named[item]]
		day.Hours[hour-first] += v.Total()
		if hour >= midnight {
			day.Today = day.Today.add(v)
		}
		days[named[item]] = day
		return nil
	}, `
		SELECT item, bucket, `+sumVerdicts+`
		FROM rollup_decision
		WHERE org_id = $1 AND dimension = 'agent' AND part = '' AND bucket >= $2 AND bucket <= $3 AND item IN (`+
		marks(4, len(items))+`)
		GROUP BY item, bucket`, append([]any{orgID, first, now}, items...)...)
	if err != nil {
		return nil, fmt.Errorf("count the decisions of agents: %w", err)
	}
	return days, s.addUsageOf(ctx, orgID, midnight, now, items, func(item string, u Usage) {
		day := days[named[item]]
		day.Usage = &u
		days[named[item]] = day
	})
}

// addUsageOf reads the usage of agents in some hours. It names each hour, so that the key finds the rows.
func (s *Service) addUsageOf(
	ctx context.Context, orgID string, first, last int64, items []any, take func(item string, u Usage),
) error {
	args := append([]any{orgID}, items...)
	for hour := first; hour <= last; hour++ {
		args = append(args, hour)
	}
	err := each(ctx, s.db, func(row database.Scanner) error {
		var item string
		var spans int64
		u, err := scanSums(row, &item, &spans)
		if err == nil && (spans > 0 || u != (Usage{})) {
			take(item, u)
		}
		return err
	}, `
		SELECT item, CAST(SUM(spans) AS BIGINT), `+sums+`
		FROM rollup_usage
		WHERE org_id = $1 AND dimension = 'agent' AND item IN (`+marks(2, len(items))+`) AND bucket IN (`+
		marks(2+len(items), int(last-first+1))+`)
		GROUP BY item`, args...)
	return database.Wrap(err, "add up the usage of agents")
}
