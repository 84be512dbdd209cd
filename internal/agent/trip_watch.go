package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
)

const (
	// lookWithin is how old the last look at what was spent may be. After that nobody with a budget may act.
	lookWithin = 2 * time.Minute
	// activeWithin is how lately an agent must have called for its spending to be looked at: seen times lag.
	activeWithin = 10 * time.Minute
	findingsSpan = 24 * time.Hour
)

// Found is something that was found about an agent's calls.
type Found struct {
	AgentID, KeyID, Kind string
	At                   time.Time
}

// lookedAt is when this process last knew what everybody had spent.
type lookedAt struct{ micros atomic.Int64 }

func (l *lookedAt) set(at time.Time) { l.micros.Store(database.Micros(at)) }

// BudgetsKnown reports whether what agents have spent was looked at lately.
func (s *Service) BudgetsKnown() bool {
	return s.db.Now().Sub(database.Time(s.looked.micros.Load())) < lookWithin
}

// Watch trips agents by what no decision counts: what they have cost, and what was found
// about them. Every replica calls it every few seconds; the first one trips.
func (s *Service) Watch(ctx context.Context) error {
	now := s.db.Now()
	orgs, err := database.Collect(ctx, s.db, database.Column[string], `
		SELECT org_id FROM agent_settings WHERE trips <> ''
		UNION
		SELECT org_id FROM agent WHERE trips <> ''`)
	if err != nil {
		return fmt.Errorf("find the organizations with trips: %w", err)
	}
	var unknown, failed []error
	for _, orgID := range orgs {
		unknown = append(unknown, s.watchBudgets(ctx, orgID, now))
		failed = append(failed, s.watchFindings(ctx, orgID, now))
	}
	if err := errors.Join(unknown...); err != nil {
		return errors.Join(append(failed, err)...)
	}
	s.looked.set(now)
	return errors.Join(failed...)
}

// watchBudgets trips the agents of an organization that have spent their budget. An agent
// counts if it has bound keys and one of them has called lately.
func (s *Service) watchBudgets(ctx context.Context, orgID string, now time.Time) error {
	settings, err := readSettings(ctx, s.db, orgID)
	if err != nil {
		return err
	}
	active, err := budgetedAgents(ctx, s.db, orgID, now.Add(-activeWithin), settings.Trips)
	if err != nil {
		return err
	}
	for _, a := range active {
		since, err := countedSince(ctx, s.db, orgID, Subject{OfAgent, a.id}, now.UTC().Truncate(24*time.Hour))
		if err != nil {
			return err
		}
		spent, err := s.sources.Spent(ctx, orgID, a.id, since)
		if err != nil {
			return fmt.Errorf("read what agent %s has spent: %w", a.id, err)
		}
		if spent < a.nanos {
			continue
		}
		limit := "$" + strconv.FormatFloat(float64(a.nanos)/nanosPerUSD, 'f', 2, 64)
		if err := s.tripLater(ctx, orgID, Subject{OfAgent, a.id}, costTrip(spent), limit); err != nil {
			return err
		}
	}
	return nil
}

// tripLater trips in a change of its own.
func (s *Service) tripLater(ctx context.Context, orgID string, of Subject, t tripped, limit string) error {
	return s.db.Write(ctx, database.Change{
		Lane: database.Urgent, Logs: []string{audit.LogOf(orgID)},
		Do: func(ctx context.Context, tx *database.Tx) error { return s.trip(ctx, tx, orgID, of, t, limit) },
	})
}

// budgeted is an agent with a budget.
type budgeted struct {
	id    string
	nanos int64
}

// budgetedAgents are the agents with a budget whose keys have called since a time, without
// those that are stopped.
func budgetedAgents(
	ctx context.Context, r database.Reader, orgID string, since time.Time, org Trips,
) (agents []budgeted, err error) {
	type row struct{ id, trips string }
	rows, err := database.Collect(ctx, r, func(s database.Scanner) (a row, err error) {
		err = s.Scan(&a.id, &a.trips)
		return a, err
	}, `
		SELECT DISTINCT a.id, a.trips
		FROM agent_seen s
		JOIN agent_key k ON k.org_id = s.org_id AND k.key_id = s.key_id
		JOIN agent a ON a.org_id = k.org_id AND a.id = k.agent_id
		WHERE s.org_id = $1 AND s.last_seen_at >= $2
			AND NOT EXISTS (SELECT 1 FROM agent_stop p WHERE p.org_id = $1 AND p.scope = 'agent' AND p.subject = a.id
				AND p.lifted_at IS NULL)
		ORDER BY a.id`, orgID, database.Micros(since))
	if err != nil {
		return nil, fmt.Errorf("find agents with a budget: %w", err)
	}
	for _, a := range rows {
		own, err := parseTrips(a.trips)
		if err != nil {
			return nil, err
		}
		if nanos := own.over(org).costNanos(); nanos > 0 {
			agents = append(agents, budgeted{a.id, nanos})
		}
	}
	return agents, nil
}

// countedSince is from when something counts: from a time, but not from before a person has
// lifted the last stop of the subject.
func countedSince(
	ctx context.Context, r database.Reader, orgID string, of Subject, since time.Time,
) (time.Time, error) {
	var lifted int64
	err := r.QueryRow(ctx, `
		SELECT COALESCE(MAX(lifted_at), 0) FROM agent_stop WHERE org_id = $1 AND scope = $2 AND subject = $3`,
		orgID, string(of.Scope), of.ID).Scan(&lifted)
	if at := database.Time(lifted); at.After(since) {
		since = at
	}
	return since, database.Wrap(err, "read when a stop was lifted")
}
