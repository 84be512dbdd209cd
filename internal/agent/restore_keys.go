package agent

import (
	"context"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// ReplacedKeys are the keys that an agent was bound to in a replaced database; without any it was bound to none.
type ReplacedKeys struct {
	OrgID, AgentID string
	Keys           []string
}

// ReadKeys reads which keys the agents of all organizations are bound to from an SQLite database that a backup
// replaces. One of an earlier Writ has none.
func ReadKeys(ctx context.Context, r database.Reader) (all []ReplacedKeys, err error) {
	has, err := database.ReplacedHas(ctx, r, "agent_key", "org_id", "agent_id", "key_id")
	if err != nil || !has {
		return nil, err
	}
	_, err = database.Collect(ctx, r, func(s database.Scanner) (none struct{}, err error) {
		var a ReplacedKeys
		var key string
		if err = s.Scan(&a.OrgID, &a.AgentID, &key); err != nil {
			return none, err
		}
		if last := len(all) - 1; last < 0 || all[last].OrgID != a.OrgID || all[last].AgentID != a.AgentID {
			all = append(all, a)
		}
		all[len(all)-1].Keys = append(all[len(all)-1].Keys, key)
		return none, nil
	}, `SELECT org_id, agent_id, key_id FROM agent_key ORDER BY org_id, agent_id, key_id`)
	return all, database.Wrap(err, "read the keys of agents")
}

const keysTaken = "its keys are other ones since the backup that was restored, which has none of them"

// TakeKeysAgain takes from the agents that a restore brings back the keys that were taken from them since, and counts
// the agents. One that would be bound to none, so that more keys could act as it than before, is suspended.
func TakeKeysAgain(
	ctx context.Context, tx *database.Tx, log *audit.Log, before []ReplacedKeys,
) (changed int, err error) {
	for _, was := range before {
		var here bool
		err := tx.QueryRow(ctx, `SELECT COUNT(*) > 0 FROM agent WHERE org_id = $1 AND id = $2`, was.OrgID,
			was.AgentID).Scan(&here)
		if err != nil {
			return 0, database.Wrap(err, "look for an agent")
		}
		if !here {
			continue
		}
		took, err := was.takeAgain(ctx, tx, log)
		if err != nil {
			return 0, err
		}
		if took {
			changed++
		}
	}
	return changed, nil
}

func (was ReplacedKeys) takeAgain(ctx context.Context, tx *database.Tx, log *audit.Log) (took bool, err error) {
	a, err := find(ctx, tx, was.OrgID, was.AgentID)
	if err != nil {
		return false, err
	}
	bound := len(a.Keys)
	left := slices.Clone(a.Keys)
	if bound == 0 { // it was bound since
		left, err = database.Collect(ctx, tx, database.Column[string],
			`SELECT id FROM api_key WHERE org_id = $1 ORDER BY id`, was.OrgID)
		if err != nil {
			return false, database.Wrap(err, "read the keys of an organization")
		}
	}
	left = slices.DeleteFunc(left, func(key string) bool { return !slices.Contains(was.Keys, key) })
	s := &Service{log: log}
	switch {
	case len(left) > 0 && len(left) == bound:
		return false, nil
	case len(left) > 0:
		a.Keys = left
		if err := update(ctx, tx, was.OrgID, a); err != nil {
			return false, err
		}
		return true, s.record(ctx, tx, principal.Operator(), was.OrgID, updated, a)
	case a.Status == Suspended:
		return false, nil
	}
	a.Status, a.SuspendedFor = Suspended, keysTaken
	if err := updateStatus(ctx, tx, was.OrgID, a); err != nil {
		return false, err
	}
	return true, s.record(ctx, tx, principal.Operator(), was.OrgID, statusChanged, a)
}
