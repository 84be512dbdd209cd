package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// ReplacedStop is a stop that a replaced database had when a backup was restored over it.
type ReplacedStop struct {
	OrgID string
	Stop
}

// ReadStops reads the stops of all organizations that are not lifted from an SQLite database
// that a backup replaces, the earliest first. One of an earlier Writ has none.
func ReadStops(ctx context.Context, r database.Reader) ([]ReplacedStop, error) {
	var columns, parents int
	err := r.QueryRow(ctx, `
		SELECT COUNT(*), COUNT(CASE WHEN name = 'parent_id' THEN 1 END) FROM pragma_table_info('agent_stop')`).Scan(
		&columns, &parents)
	switch {
	case err != nil || columns == 0:
		return nil, database.Wrap(err, "look for stops")
	case parents == 0:
		return nil, errors.New("its stops are in a form between two versions: start the server once, and restore then")
	}
	all, err := database.Collect(ctx, r, func(s database.Scanner) (a ReplacedStop, err error) {
		err = s.Scan(&a.ID, &a.OrgID, &a.Scope, &a.Subject, &a.Reason, &a.StoppedBy, database.ToTime(&a.StoppedAt),
			&a.Trip, database.ToText(&a.parent))
		return a, err
	}, `
		SELECT id, org_id, scope, subject, reason, stopped_by, stopped_at, trip, parent_id
		FROM agent_stop
		WHERE lifted_at IS NULL
		ORDER BY org_id, position, id`)
	for i := 0; i < len(all) && err == nil; i++ {
		all[i].Keys, err = database.Collect(ctx, r, database.Column[string],
			`SELECT key_id FROM agent_stop_key WHERE stop_id = $1 ORDER BY key_id`, all[i].ID)
	}
	return all, database.Wrap(err, "read what the kill switch has stopped")
}

// StopAgain stops what a restore would let act again, in the logs of the organizations that
// it has brought back, and counts the stops.
func StopAgain(ctx context.Context, tx *database.Tx, log *audit.Log, before []ReplacedStop) (stopped int, err error) {
	for _, a := range before {
		var here int
		err := tx.QueryRow(ctx, `
			SELECT (SELECT COUNT(*) FROM organization WHERE id = $1) - (SELECT COUNT(*) FROM agent_stop WHERE id = $2 AND lifted_at IS NULL)`,
			a.OrgID, a.ID).Scan(&here)
		if err != nil {
			return 0, fmt.Errorf("look for a stop: %w", err)
		}
		if here != 1 {
			continue // the organization is not restored, or the stop is
		}
		if err := a.stopAgain(ctx, tx, log); err != nil {
			return 0, err
		}
		stopped++
	}
	return stopped, nil
}

func (a *ReplacedStop) stopAgain(ctx context.Context, tx *database.Tx, log *audit.Log) error {
	known, err := database.Collect(ctx, tx, database.Column[string], `SELECT id FROM api_key WHERE org_id = $1`,
		a.OrgID)
	if err != nil {
		return fmt.Errorf("read the keys of an organization: %w", err)
	}
	again := a.Stop
	again.Keys = slices.DeleteFunc(slices.Clone(a.Keys), func(key string) bool { return !slices.Contains(known, key) })
	again.StoppedAt = tx.Now() // the id stays: others follow from it
	payload := map[string]any{"reason": a.Reason, "stop": again.ID, "restored": true}
	return again.begin(ctx, tx, log, principal.Operator(), a.OrgID, payload)
}

// ReplacedSuspension is an agent that was suspended in a replaced database.
type ReplacedSuspension struct{ OrgID, AgentID, For string }

// ReadSuspended reads the suspended agents of all organizations from an SQLite database that a backup replaces. One of
// an earlier Writ has none.
func ReadSuspended(ctx context.Context, r database.Reader) ([]ReplacedSuspension, error) {
	var has bool
	err := r.QueryRow(ctx, `SELECT COUNT(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = 'agent'`).Scan(&has)
	if err != nil || !has {
		return nil, database.Wrap(err, "look for agents")
	}
	all, err := database.Collect(ctx, r, func(s database.Scanner) (a ReplacedSuspension, err error) {
		err = s.Scan(&a.OrgID, &a.AgentID, &a.For)
		return a, err
	}, `SELECT org_id, id, suspended_for FROM agent WHERE suspended_at IS NOT NULL ORDER BY org_id, id`)
	return all, database.Wrap(err, "read the suspended agents")
}

// SuspendAgain suspends the agents that a restore would let act again, and counts them.
func SuspendAgain(
	ctx context.Context, tx *database.Tx, log *audit.Log, before []ReplacedSuspension,
) (suspended int, err error) {
	s := &Service{log: log}
	for _, was := range before {
		var active bool
		err := tx.QueryRow(ctx, `
			SELECT COUNT(*) > 0 FROM agent WHERE org_id = $1 AND id = $2 AND suspended_at IS NULL`,
			was.OrgID, was.AgentID).Scan(&active)
		if err != nil {
			return 0, fmt.Errorf("look for a suspended agent: %w", err)
		}
		if !active {
			continue // it is not in the backup, or suspended there
		}
		a, err := find(ctx, tx, was.OrgID, was.AgentID)
		if err != nil {
			return 0, err
		}
		a.Status, a.SuspendedFor = Suspended, was.For
		if err := updateStatus(ctx, tx, was.OrgID, a); err != nil {
			return 0, err
		}
		if err := s.record(ctx, tx, principal.Operator(), was.OrgID, statusChanged, a); err != nil {
			return 0, err
		}
		suspended++
	}
	return suspended, nil
}
