package apikey

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// MadeFrom are the keys of an organization among some, and all that these made or were
// replaced by, also by way of another organization.
func MadeFrom(ctx context.Context, r database.Reader, orgID string, ids []string) ([]string, error) {
	var all []string
	for _, id := range ids {
		made, err := database.Collect(ctx, r, database.Column[string], `
			WITH RECURSIVE line (id) AS (
				SELECT id FROM api_key WHERE id = $2
				UNION
				SELECT k.id FROM api_key k JOIN line l ON k.made_by = l.id
			)
			SELECT k.id FROM api_key k JOIN line l ON k.id = l.id WHERE k.org_id = $1`, orgID, id)
		if err != nil {
			return nil, fmt.Errorf("find the keys that a key made: %w", err)
		}
		all = append(all, made...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// isStopped reports whether the kill switch has stopped a key, or one that it comes from. A trip of a key
// does not reach beyond a key that is bound to an agent. A stop does not reach into another organization
// whose owner has lifted it.
func isStopped(ctx context.Context, r database.Reader, id string) (stopped bool, err error) {
	err = r.QueryRow(ctx, `
		WITH RECURSIVE line (id, beyond) AS (
			SELECT id, 0 FROM api_key WHERE id = $1
			UNION
			SELECT k.made_by,
				CASE WHEN l.beyond = 1 OR EXISTS (SELECT 1 FROM agent_key b WHERE b.key_id = l.id) THEN 1 ELSE 0 END
			FROM api_key k
			JOIN line l ON k.id = l.id
			JOIN api_key m ON m.id = k.made_by
			WHERE COALESCE(m.org_id, '') = COALESCE(k.org_id, '') OR NOT EXISTS (
				SELECT 1 FROM agent_stop_key f
				JOIN agent_stop p ON p.id = f.stop_id
				WHERE f.key_id = k.id AND p.parent_id IS NOT NULL AND p.lifted_by <> '')
		)
		SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END
		FROM agent_stop_key k
		JOIN line l ON k.key_id = l.id
		JOIN agent_stop s ON s.id = k.stop_id AND s.lifted_at IS NULL
		WHERE l.beyond = 0 OR s.scope <> 'key' OR s.trip = ''`, id).Scan(database.ToBool(&stopped))
	return stopped, database.Wrap(err, "read whether API key %s is stopped", id)
}

// isSuspended reports whether a key, or one that it comes from, is bound to a suspended agent. An agent whose owner has
// left is suspended.
func isSuspended(ctx context.Context, r database.Reader, id string) (suspended bool, err error) {
	err = r.QueryRow(ctx, `
		WITH RECURSIVE line (id) AS (
			SELECT id FROM api_key WHERE id = $1
			UNION
			SELECT k.made_by FROM api_key k JOIN line l ON k.id = l.id WHERE k.made_by IS NOT NULL
		)
		SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END
		FROM agent_key b
		JOIN line l ON b.key_id = l.id
		JOIN agent a ON a.org_id = b.org_id AND a.id = b.agent_id
		LEFT JOIN organization_member m ON m.org_id = a.org_id AND m.user_id = a.owner_id
		WHERE a.suspended_at IS NOT NULL OR m.user_id IS NULL`, id).Scan(database.ToBool(&suspended))
	return suspended, database.Wrap(err, "read whether the agent of API key %s is suspended", id)
}

// refuseStopped refuses to make a key out of one that the kill switch has stopped, or whose agent is suspended.
func refuseStopped(ctx context.Context, r database.Reader, id string) error {
	stopped, err := isStopped(ctx, r, id)
	if err != nil {
		return err
	}
	if stopped {
		return fault.New(fault.Conflict, "this API key is stopped by the kill switch: nothing is made of it")
	}
	suspended, err := isSuspended(ctx, r, id)
	if err == nil && suspended {
		return fault.New(fault.Conflict, "the agent of this API key is suspended: nothing is made of it")
	}
	return err
}

// maxMade is how many active keys of a person in an organization may come from other keys.
const maxMade = 1_000

// refuseMany bounds what keys make: an agent with a terminal's key could else make as many as it likes.
func refuseMany(ctx context.Context, tx *database.Tx, p principal.Principal, orgID string) error {
	if p.Kind != principal.Key {
		return nil
	}
	var made int
	err := tx.QueryRow(ctx, `
		SELECT COUNT(*) FROM api_key
		WHERE org_id = $1 AND owner_id = $2 AND made_by IS NOT NULL AND revoked_at IS NULL
			AND (expires_at IS NULL OR expires_at > $3)`, orgID, p.UserID, database.Micros(tx.Now())).Scan(&made)
	if err == nil && made >= maxMade {
		return fault.New(fault.Conflict, "%d of your API keys here were made by others: revoke some first", made)
	}
	return database.Wrap(err, "count the keys that keys made")
}

// maker is the key that a caller makes another with; empty: a person makes it.
func maker(p principal.Principal) string {
	if p.Kind == principal.Key {
		return p.KeyID
	}
	return ""
}
