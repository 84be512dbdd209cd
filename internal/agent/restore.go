package agent

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
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
	var has bool
	err := r.QueryRow(ctx, `SELECT COUNT(*) FROM pragma_table_info('agent_stop') WHERE name = 'parent_id'`).Scan(
		database.ToBool(&has))
	if err != nil || !has {
		return nil, database.Wrap(err, "look for stops")
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
	entry, err := log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(a.OrgID), Action: ledger.Killed, Actor: principal.Operator(),
		Subject:  audit.Subject{Type: string(a.Scope), ID: again.subjectID(a.OrgID)},
		Decision: again.record(),
		Stop:     ledger.Stop{Scope: string(a.Scope), Keys: a.recordedKeys()},
		Payload:  map[string]any{"reason": a.Reason, "stop": again.ID, "restored": true},
	})
	if err != nil {
		return err
	}
	again.Index = entry.Index
	return insertStop(ctx, tx, a.OrgID, again)
}
