package telemetry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
)

// Agents are named by those who call, so that their names may be many. They are needed to count an agent once as long
// as its month may get further decisions. A month that is closed is counted, and the names go.

// monthSettled is how long a month is over before it is closed: the clocks of replicas differ.
const monthSettled = 48 * time.Hour

// Periods of counted agents.
const (
	ofDay   = "day"
	ofMonth = "month"
)

// month is one of an organization, by its first hour and that of the next.
type month struct {
	orgID      string
	first, end int64
}

func monthAt(orgID string, bucket int64) month {
	first := monthOf(bucket * hourMicros)
	return month{orgID, first, monthOf((first + 32*24) * hourMicros)}
}

// closeMonths replaces the agents of closed months by how many there were, each day and in the month. A month that
// fails does not stop the others.
func (s *Service) closeMonths(ctx context.Context, _ int64) error {
	months, err := s.openMonths(ctx, monthOf(database.Micros(s.db.Now().Add(-monthSettled))))
	if err != nil {
		return fmt.Errorf("list months that are over: %w", err)
	}
	var failed []error
	for _, m := range months {
		closed, err := s.isClosed(ctx, m)
		if err == nil && closed {
			err = s.closeMonth(ctx, m)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("close a month of organization %s: %w", m.orgID, err))
		}
	}
	return errors.Join(failed...)
}

// openMonths are those before an hour of which agents are still named.
func (s *Service) openMonths(ctx context.Context, before int64) (months []month, err error) {
	err = each(ctx, s.db, func(row database.Scanner) error {
		var orgID string
		var bucket int64
		err := row.Scan(&orgID, &bucket)
		// They come in order.
		if m := monthAt(orgID, bucket); len(months) == 0 || months[len(months)-1] != m {
			months = append(months, m)
		}
		return err
	}, `SELECT DISTINCT org_id, bucket FROM metered_agent WHERE bucket < $1 ORDER BY org_id, bucket`, before)
	return months, err
}

// isClosed reports whether all decisions of a month that is over are counted. A log is counted in its order, so they
// are when one of a later month is, or when nothing of the log is left to count; those from before telemetry counted
// any are counted backwards, up to a time.
func (s *Service) isClosed(ctx context.Context, m month) (closed bool, err error) {
	var at Position
	var later bool
	err = s.db.QueryRow(ctx, `
		SELECT position, epoch, counted_from, EXISTS (
			SELECT 1 FROM metered_day
			WHERE metered_day.org_id = $1 AND bucket >= $2 AND allowed + asked + held + denied > 0)
		FROM projected
		WHERE org_id = $1 AND counted_since <= $3`, m.orgID, m.end, m.first*hourMicros).
		Scan(&at.Next, &at.Epoch, &at.Counted, &later)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil || later || s.allCounted == nil {
		return later, err
	}
	return s.allCounted(ctx, m.orgID, at)
}

// closeMonth counts before it writes, because a month may have many agents, and no more come to one that is closed.
// Interrupted, it is continued by the next run: what was stored first holds.
func (s *Service) closeMonth(ctx context.Context, m month) error {
	rows, err := s.countMonth(ctx, m)
	if err != nil {
		return err
	}
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		return tx.Insert(ctx, `INSERT INTO metered_agents (org_id, period, bucket, agents)`, rows,
			`ON CONFLICT (org_id, period, bucket) DO NOTHING`)
	}})
	if err != nil {
		return err
	}
	for removed := int64(1); removed > 0; {
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
			removed, err = tx.Exec(ctx, `
				DELETE FROM metered_agent
				WHERE (org_id, bucket, agent, writer) IN (
					SELECT org_id, bucket, agent, writer FROM metered_agent
					WHERE org_id = $1 AND bucket >= $2 AND bucket < $3
					LIMIT $4)`, m.orgID, m.first, m.end, deleteRows)
			return err
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// countMonth makes the rows of a month and of its days.
func (s *Service) countMonth(ctx context.Context, m month) (rows [][]any, err error) {
	var all int64
	err = s.db.QueryRow(ctx,
		`SELECT count(DISTINCT agent) FROM metered_agent WHERE org_id = $1 AND bucket >= $2 AND bucket < $3`,
		m.orgID, m.first, m.end).Scan(&all)
	if err != nil {
		return nil, err
	}
	rows = [][]any{{m.orgID, ofMonth, m.first, all}}
	err = each(ctx, s.db, func(row database.Scanner) error {
		var bucket, agents int64
		err := row.Scan(&bucket, &agents)
		rows = append(rows, []any{m.orgID, ofDay, bucket, agents})
		return err
	}, `
		SELECT bucket, count(DISTINCT agent) FROM metered_agent
		WHERE org_id = $1 AND bucket >= $2 AND bucket < $3
		GROUP BY bucket`, m.orgID, m.first, m.end)
	return rows, err
}

// closedMonths are those of an organization from a time on.
func closedMonths(ctx context.Context, r database.Reader, orgID string, from int64) (map[int64]bool, error) {
	closed := map[int64]bool{}
	err := each(ctx, r, func(row database.Scanner) error {
		var bucket int64
		err := row.Scan(&bucket)
		closed[bucket] = true
		return err
	}, `SELECT bucket FROM metered_agents WHERE org_id = $1 AND period = $2 AND bucket >= $3`, orgID, ofMonth, from)
	return closed, err
}

// countAgents counts the agents of each period, once in each.
func (s *Service) countAgents(ctx context.Context, q MeteredQuery, of, orgID string, all []Metered) error {
	period := ofDay
	if q.Monthly {
		period = ofMonth
	}
	for i := range all {
		at := database.Micros(all[i].At)
		err := s.db.QueryRow(ctx, `
			SELECT (
				SELECT CAST(COALESCE(SUM(agents), 0) AS BIGINT)
				FROM metered_agents
				WHERE `+of+` AND period = $4 AND bucket = $2
			) + (
				SELECT count(*)
				FROM (
					SELECT DISTINCT org_id, agent FROM metered_agent named
					WHERE `+of+` AND bucket >= $2 AND bucket < $3 AND NOT EXISTS (
						SELECT 1 FROM metered_agents closed
						WHERE closed.org_id = named.org_id AND closed.period = 'month' AND closed.bucket = $5)
				) AS active
			)`, orgID, dayOf(at), hourOf(q.next(all[i].At)), period, monthOf(at)).Scan(&all[i].Agents)
		if err != nil {
			return database.Wrap(err, "count active agents")
		}
	}
	return nil
}
