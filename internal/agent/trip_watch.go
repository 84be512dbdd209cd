package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
)

const (
	// lookWithin is how old the last look at what was spent may be. After that nobody with a budget may act.
	lookWithin = 2 * time.Minute
	// lookFor is how long one organization may take, and lookAtOnce how many are looked at: one that is slow or broken
	// must not hold up the others.
	lookFor    = 20 * time.Second
	lookAtOnce = 4
)

// looks is when this process last knew what the agents of an organization had spent.
type looks struct {
	mu  sync.Mutex
	all time.Time            // when it last knew which organizations have budgets
	by  map[string]time.Time // of those that have
}

func newLooks(at time.Time) *looks { return &looks{all: at, by: map[string]time.Time{}} }

// listed notes which organizations have budgets. One that is new was known to have spent nothing until then.
func (l *looks) listed(orgs []string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	by := make(map[string]time.Time, len(orgs))
	for _, orgID := range orgs {
		if by[orgID] = l.by[orgID]; by[orgID].IsZero() {
			by[orgID] = l.all
		}
	}
	l.by, l.all = by, at
}

func (l *looks) looked(orgID string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by[orgID] = at
}

func (l *looks) last(orgID string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.by[orgID]; ok {
		return at
	}
	return l.all
}

// BudgetsKnown reports whether what the agents of an organization have spent was looked at lately.
func (s *Service) BudgetsKnown(orgID string) bool {
	return s.db.Now().Sub(s.looks.last(orgID)) < lookWithin
}

// OrgError is what failed in one organization, while the others went on.
type OrgError struct {
	OrgID string
	Err   error
}

func (e *OrgError) Error() string { return "organization " + e.OrgID + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *OrgError) Unwrap() error { return e.Err }

// WatchBudgets trips agents that have spent their budget, which no decision counts. Every replica calls it every few
// seconds; the first one trips. What fails in one organization is given to failed, and concerns no other.
func (s *Service) WatchBudgets(ctx context.Context, failed func(error)) error {
	now := s.db.Now()
	orgs, err := s.withTrips(ctx)
	if err != nil {
		return err
	}
	s.looks.listed(orgs, now)
	s.eachOrg(ctx, orgs, failed, func(ctx context.Context, orgID string) error {
		if err := s.watchBudgets(ctx, orgID, now); err != nil {
			return err
		}
		s.looks.looked(orgID, now)
		return nil
	})
	return nil
}

// WatchFindings trips what findings are about, as WatchBudgets does.
func (s *Service) WatchFindings(ctx context.Context, failed func(error)) error {
	now := s.db.Now()
	orgs, err := s.withTrips(ctx)
	if err != nil {
		return err
	}
	s.eachOrg(ctx, orgs, failed, func(ctx context.Context, orgID string) error {
		return s.watchFindings(ctx, orgID, now)
	})
	return nil
}

// withTrips are the organizations that have set trips.
func (s *Service) withTrips(ctx context.Context) ([]string, error) {
	orgs, err := database.Collect(ctx, s.db, database.Column[string], `
		SELECT org_id FROM agent_settings WHERE trips <> ''
		UNION
		SELECT org_id FROM agent WHERE trips <> ''`)
	return orgs, database.Wrap(err, "find the organizations with trips")
}

// eachOrg looks at organizations, some at once, each for a bounded time.
func (s *Service) eachOrg(
	ctx context.Context, orgs []string, failed func(error), look func(ctx context.Context, orgID string) error,
) {
	var all sync.WaitGroup
	var reporting sync.Mutex
	slots := make(chan struct{}, lookAtOnce)
	for _, orgID := range orgs {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			bounded, cancel := context.WithTimeout(ctx, lookFor)
			defer cancel()
			if err := look(bounded, orgID); err != nil && ctx.Err() == nil {
				reporting.Lock()
				defer reporting.Unlock()
				failed(&OrgError{orgID, err})
			}
		})
	}
	all.Wait()
}

// watchBudgets trips the agents of an organization that have spent their budget. An agent that cannot be tripped does
// not keep the others from it.
func (s *Service) watchBudgets(ctx context.Context, orgID string, now time.Time) error {
	settings, err := readSettings(ctx, s.db, orgID)
	if err != nil {
		return err
	}
	agents, err := budgetedAgents(ctx, s.db, orgID, settings.Trips)
	if err != nil {
		return err
	}
	var all []error
	for _, a := range agents {
		spent, err := s.spentToday(ctx, orgID, a.id, now)
		if err == nil && spent >= a.nanos {
			limit := "$" + strconv.FormatFloat(float64(a.nanos)/nanosPerUSD, 'f', 2, 64)
			err = s.tripLater(ctx, orgID, Subject{OfAgent, a.id}, costTrip(spent), limit)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// spentToday is what an agent has cost since midnight or, if a person revived it today, on top of what it had cost
// then. Telemetry tells the hour of some costs only, so that the sum at the first look after the revival is kept.
func (s *Service) spentToday(ctx context.Context, orgID, agentID string, now time.Time) (int64, error) {
	midnight := now.UTC().Truncate(24 * time.Hour)
	spent, err := s.sources.Spent(ctx, orgID, agentID, midnight)
	if err != nil {
		return 0, fmt.Errorf("read what agent %s has spent: %w", agentID, err)
	}
	of := Subject{OfAgent, agentID}
	lifted, err := countedSince(ctx, s.db, orgID, of, midnight)
	if err != nil || lifted.Equal(midnight) {
		return spent, err
	}
	before, err := s.spentUntil(ctx, orgID, of, lifted, spent)
	return max(spent-before, 0), err
}

// spentUntil is what a subject had cost on the day that it was revived: what was kept of it or, with the first look
// since, what it has cost now.
func (s *Service) spentUntil(
	ctx context.Context, orgID string, of Subject, lifted time.Time, now int64,
) (before int64, err error) {
	at := database.Micros(lifted)
	err = s.db.QueryRow(ctx, `
		SELECT count FROM agent_trip_count
		WHERE org_id = $1 AND scope = $2 AND subject = $3 AND rule = $4 AND since = $5`,
		orgID, string(of.Scope), of.ID, string(CostPerDay), at).Scan(&before)
	if !errors.Is(err, sql.ErrNoRows) {
		return before, database.Wrap(err, "read what agent %s had spent", of.ID)
	}
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		return tx.QueryRow(ctx, `
			INSERT INTO agent_trip_count (org_id, scope, subject, rule, since, count)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (org_id, scope, subject, rule) DO UPDATE
			SET count = CASE WHEN agent_trip_count.since = excluded.since THEN agent_trip_count.count ELSE excluded.count END,
				since = excluded.since
			RETURNING count`, orgID, string(of.Scope), of.ID, string(CostPerDay), at, now).Scan(&before)
	}})
	return before, database.Wrap(err, "keep what agent %s had spent", of.ID)
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

// budgetedAgents are the agents with a budget that have keys, without those that are stopped. Whether they have called
// says nothing: what counts is what telemetry was sent.
func budgetedAgents(
	ctx context.Context, r database.Reader, orgID string, org Trips,
) (agents []budgeted, err error) {
	type row struct{ id, trips string }
	rows, err := database.Collect(ctx, r, func(s database.Scanner) (a row, err error) {
		err = s.Scan(&a.id, &a.trips)
		return a, err
	}, `
		SELECT a.id, a.trips
		FROM agent a
		WHERE a.org_id = $1 AND (a.trips <> '' OR $2 = 1)
			AND EXISTS (SELECT 1 FROM agent_key k WHERE k.org_id = a.org_id AND k.agent_id = a.id)
			AND NOT EXISTS (SELECT 1 FROM agent_stop p WHERE p.org_id = $1 AND p.scope = 'agent' AND p.subject = a.id
				AND p.lifted_at IS NULL)
		ORDER BY a.id`, orgID, database.Bit(org.costNanos() > 0))
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
