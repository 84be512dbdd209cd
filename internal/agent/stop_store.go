package agent

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/principal"
)

// concern is a stop that may concern a call.
type concern struct {
	scope    Scope
	subject  string
	position int64
	lifted   bool
}

// concerning reads the stops that concern a call of an agent with a key: those of the
// agent, of the key and of every key that it comes from, of the organization, and those of
// servers, tools and plans.
func concerning(ctx context.Context, r database.Reader, orgID, agentID, keyID string) ([]concern, error) {
	found, err := database.Collect(ctx, r, func(s database.Scanner) (c concern, err error) {
		err = s.Scan(&c.scope, &c.subject, &c.position, database.ToBool(&c.lifted))
		return c, err
	}, `
		WITH RECURSIVE line (id) AS (
			SELECT id FROM api_key WHERE id = $3
			UNION
			SELECT k.made_by FROM api_key k JOIN line l ON k.id = l.id WHERE k.made_by IS NOT NULL
		)
		SELECT s.scope, s.subject, s.position, CASE WHEN s.lifted_at IS NULL THEN 0 ELSE 1 END
		FROM agent_stop s
		WHERE s.org_id = $1 AND (s.scope = 'agent' AND s.subject = $2 OR s.scope = 'organization'
			OR s.scope IN ('server', 'tool', 'plan') AND s.lifted_at IS NULL
			OR s.id IN (SELECT k.stop_id FROM agent_stop_key k JOIN line l ON k.key_id = l.id))`, orgID, agentID, keyID)
	return found, database.Wrap(err, "read what is stopped")
}

// activeStops reads the stops of a subject, or all, that are not lifted, the latest first.
func activeStops(
	ctx context.Context, r database.Reader, orgID string, scope Scope, subject string,
) ([]Stop, error) {
	stops, err := database.Collect(ctx, r, func(s database.Scanner) (st Stop, err error) {
		err = s.Scan(&st.ID, &st.Scope, &st.Subject, &st.Reason, &st.Index, &st.StoppedBy,
			database.ToTime(&st.StoppedAt), &st.Trip, database.ToText(&st.parent))
		return st, err
	}, `
		SELECT id, scope, subject, reason, position, stopped_by, stopped_at, trip, parent_id
		FROM agent_stop
		WHERE org_id = $1 AND lifted_at IS NULL AND ($2 = '' OR scope = $2 AND subject = $3)
		ORDER BY position DESC LIMIT 1000`, orgID, string(scope), subject)
	if err != nil {
		return nil, fmt.Errorf("read what is stopped: %w", err)
	}
	for i := range stops {
		stops[i].Keys, err = database.Collect(ctx, r, database.Column[string],
			`SELECT key_id FROM agent_stop_key WHERE stop_id = $1 ORDER BY key_id`, stops[i].ID)
		if err != nil {
			return nil, fmt.Errorf("read the keys that are stopped: %w", err)
		}
	}
	return stops, nil
}

func insertStop(ctx context.Context, tx *database.Tx, orgID string, s Stop) error {
	var parent any
	if s.parent != "" {
		parent = s.parent
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO agent_stop (id, org_id, scope, subject, reason, position, stopped_by, stopped_at, trip, parent_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		s.ID, orgID, string(s.Scope), s.Subject, s.Reason, s.Index, s.StoppedBy, database.Micros(s.StoppedAt),
		string(s.Trip), parent)
	if err != nil {
		return fmt.Errorf("store a stop: %w", err)
	}
	rows := make([][]any, len(s.Keys))
	for i, key := range s.Keys {
		rows[i] = []any{s.ID, key}
	}
	err = tx.Insert(ctx, `INSERT INTO agent_stop_key (stop_id, key_id)`, rows, ``)
	return database.Wrap(err, "store the keys of a stop")
}

func lift(
	ctx context.Context, tx *database.Tx, p principal.Principal, scope Scope, subject string, index int64,
) error {
	_, err := tx.Exec(ctx, `
		UPDATE agent_stop
		SET lifted_by = $4, lifted_at = $5, lifted_position = $6
		WHERE org_id = $1 AND scope = $2 AND subject = $3 AND lifted_at IS NULL AND parent_id IS NULL`,
		p.OrgID, string(scope), subject, p.UserID, database.Micros(tx.Now()), index)
	return database.Wrap(err, "lift a stop")
}

// maxReadBack is how many of the latest decisions of an agent are read for its keys, beside
// what is remembered of it: sightings are bounded.
const maxReadBack = 10_000

// usedWith are the keys that an agent's id was sent with.
func usedWith(ctx context.Context, tx *database.Tx, orgID, agentID string) ([]string, error) {
	keys, err := database.Collect(ctx, tx, database.Column[string], `
		SELECT key_id FROM agent_seen WHERE org_id = $1 AND agent_id = $2`, orgID, agentID)
	if err != nil {
		return nil, fmt.Errorf("read the keys that an agent was seen with: %w", err)
	}
	latest, err := database.Collect(ctx, tx, database.Column[string], `
		SELECT DISTINCT k.id
		FROM (
			SELECT actor FROM audit_entry
			WHERE log = $1 AND agent = $2
			ORDER BY recorded_at DESC, position DESC LIMIT $3
		) e
		JOIN api_key k ON k.id = e.actor AND k.org_id = $1`, orgID, agentID, maxReadBack)
	return append(keys, latest...), database.Wrap(err, "read the keys of an agent's decisions")
}

// sharing are the other agents that use any of the keys, sorted.
func sharing(ctx context.Context, tx *database.Tx, orgID, agentID string, keys []string) ([]string, error) {
	agents := []string{}
	for _, key := range keys {
		more, err := database.Collect(ctx, tx, database.Column[string], `
			SELECT agent_id FROM agent_key WHERE org_id = $1 AND key_id = $2 AND agent_id <> $3
			UNION
			SELECT agent_id FROM agent_seen WHERE org_id = $1 AND key_id = $2 AND agent_id <> $3`, orgID, key, agentID)
		if err != nil {
			return nil, fmt.Errorf("find the agents of stopped keys: %w", err)
		}
		agents = append(agents, more...)
	}
	slices.Sort(agents)
	return slices.Compact(agents), nil
}
