package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// Counting is what trips count of a call. The zero value counts nothing.
type Counting struct {
	Subject Subject // stopped once a number is reached
	At      Subject // what the count belongs to: the agent, or the first key of the line
	Calls   int64   // at which it is stopped; zero: never
	Denials int64
	// Budget: it has a budget, so that nobody may act while what was spent is unknown.
	Budget bool
	// More is what else a call counts for: its key is bound to several agents.
	More  *Counting
	trips *Trips
}

func newCounting(stops, at Subject, trips Trips) Counting {
	return Counting{
		Subject: stops,
		At:      at,
		Calls:   trips.most(CallsPerMinute),
		Denials: trips.most(DenialsPerMinute),
		Budget:  at.Scope == OfAgent && trips.costNanos() > 0,
		trips:   &trips,
	}
}

// each gives everything that a call counts for.
func (c Counting) each() (all []Counting) {
	for at := &c; at != nil && at.Subject.ID != ""; at = at.More {
		all = append(all, *at)
	}
	return all
}

// HasBudget reports whether anything that a call counts for has a budget.
func (c Counting) HasBudget() bool {
	return slices.ContainsFunc(c.each(), func(c Counting) bool { return c.Budget })
}

// Counted counts a decision within its transaction, right behind its entry, and stops its
// subject once a number is reached. The log's lock makes replicas count one after another.
func (s *Service) Counted(ctx context.Context, tx *database.Tx, orgID string, c Counting, denied bool) error {
	for _, one := range c.each() {
		if err := s.countOne(ctx, tx, orgID, one, denied); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) countOne(ctx context.Context, tx *database.Tx, orgID string, c Counting, denied bool) error {
	stopped := false
	count := func(rule Rule, most int64) error {
		if most == 0 || stopped {
			return nil
		}
		n, err := addToWindow(ctx, tx, orgID, c.At, rule)
		if err != nil || n < most {
			return err
		}
		stopped = true
		return s.trip(ctx, tx, orgID, c.Subject, countedTrip(rule, n), strconv.FormatInt(most, 10))
	}
	if err := count(CallsPerMinute, c.Calls); err != nil {
		return err
	}
	if !denied {
		return nil
	}
	return count(DenialsPerMinute, c.Denials)
}

// Answered counts what a person answered to an approval request of an agent and key, within
// that change.
func (s *Service) Answered(
	ctx context.Context, tx *database.Tx, orgID, agentID, keyID string, rejected bool,
) error {
	st, err := s.standingIn(ctx, tx, orgID, agentID, keyID)
	if err != nil {
		return err
	}
	for _, c := range st.Counting.each() { // none of what is stopped or suspended
		if err := s.answeredOne(ctx, tx, orgID, c, rejected); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) answeredOne(ctx context.Context, tx *database.Tx, orgID string, c Counting, rejected bool) error {
	most := c.trips.most(RejectedInARow)
	if most == 0 {
		return nil
	}
	if !rejected {
		return resetCount(ctx, tx, orgID, c.At, RejectedInARow)
	}
	n, err := addInARow(ctx, tx, orgID, c.At, RejectedInARow)
	if err != nil || n < most {
		return err
	}
	return s.trip(ctx, tx, orgID, c.Subject, countedTrip(RejectedInARow, n), strconv.FormatInt(most, 10))
}

// trip stops a subject and notifies people, once: what is stopped already stays as it is.
// The transaction holds the organization's log.
func (s *Service) trip(
	ctx context.Context, tx *database.Tx, orgID string, of Subject, t tripped, limit string,
) error {
	if !tx.HoldsLog(audit.LogOf(orgID)) {
		return fmt.Errorf("trip: the change does not declare the log of organization %s", orgID)
	}
	by := principal.Operator()
	by.OrgID = orgID
	stop, fresh, err := s.kill(ctx, tx, by, Stop{
		Scope: of.Scope, Subject: of.ID, Reason: t.reason(limit), Trip: t.rule,
	}, nil)
	if err != nil || !fresh || s.sources.Tripped == nil {
		return err
	}
	return s.sources.Tripped(ctx, tx, orgID, stop)
}

// resetCounts forgets what was counted for a subject whose stop is lifted. The count stays until then: other keys of
// the line share it, and must not get a fresh one because one of them tripped.
func resetCounts(ctx context.Context, tx *database.Tx, orgID string, of Subject) error {
	switch of.Scope {
	case OfAgent:
		return resetCount(ctx, tx, orgID, of, "")
	case OfKey:
		agents, err := readConcerned(ctx, tx, orgID, "", of.ID)
		if err != nil {
			return fmt.Errorf("read what the calls of a key count for: %w", err)
		}
		root, err := rootKey(ctx, tx, of.ID)
		if err != nil {
			return err
		}
		counts := countedFor(agents, of.ID, Settings{})
		for _, c := range append(counts, Counting{At: Subject{OfKey, root}}) {
			if err := resetCount(ctx, tx, orgID, c.At, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// addToWindow counts one within a minute that began with the first, and gives the count. A
// clock that is behind counts in the window that is open.
func addToWindow(ctx context.Context, tx *database.Tx, orgID string, of Subject, rule Rule) (n int64, err error) {
	err = tx.Prepared().QueryRow(ctx, `
		INSERT INTO agent_trip_count (org_id, scope, subject, rule, since, count)
		VALUES ($1, $2, $3, $4, $5, 1)
		ON CONFLICT (org_id, scope, subject, rule) DO UPDATE
		SET count = CASE WHEN excluded.since - agent_trip_count.since >= $6 THEN 1 ELSE agent_trip_count.count + 1 END,
			since = CASE WHEN excluded.since - agent_trip_count.since >= $6 THEN excluded.since
				ELSE agent_trip_count.since END
		RETURNING count`,
		orgID, string(of.Scope), of.ID, string(rule), database.Micros(tx.Now()), tripWindow.Microseconds()).Scan(&n)
	return n, database.Wrap(err, "count for a trip")
}

// addInARow counts one more, however long ago the last was.
func addInARow(ctx context.Context, tx *database.Tx, orgID string, of Subject, rule Rule) (n int64, err error) {
	err = tx.QueryRow(ctx, `
		INSERT INTO agent_trip_count (org_id, scope, subject, rule, since, count)
		VALUES ($1, $2, $3, $4, $5, 1)
		ON CONFLICT (org_id, scope, subject, rule) DO UPDATE SET count = agent_trip_count.count + 1, since = excluded.since
		RETURNING count`,
		orgID, string(of.Scope), of.ID, string(rule), database.Micros(tx.Now())).Scan(&n)
	return n, database.Wrap(err, "count for a trip")
}

// resetCount forgets what was counted by a rule; empty: by all.
func resetCount(ctx context.Context, tx *database.Tx, orgID string, of Subject, rule Rule) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM agent_trip_count
		WHERE org_id = $1 AND scope = $2 AND subject = $3 AND ($4 = '' OR rule = $4)`,
		orgID, string(of.Scope), of.ID, string(rule))
	return database.Wrap(err, "forget what was counted for a trip")
}

// forgetCounts is after how long a count that nothing was added to is forgotten.
const forgetCounts = 30 * 24 * time.Hour

func pruneCounts(ctx context.Context, tx *database.Tx) (int64, error) {
	return tx.Exec(ctx, `
		DELETE FROM agent_trip_count
		WHERE (org_id, scope, subject, rule) IN (
			SELECT org_id, scope, subject, rule FROM agent_trip_count WHERE since < $1 LIMIT $2)`,
		database.Micros(tx.Now().Add(-forgetCounts)), pruneSlice)
}
