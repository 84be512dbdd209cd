package agent

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/database"
)

// concern is a stop that may concern a call.
type concern struct {
	scope    Scope
	subject  string
	position int64 // of its last entry: the one that lifts it, else the one that stops
	lifted   bool
}

// concerning reads the stops that concern a call of an agent with a key: those of the
// agent, of the key and of every key that it comes from, of the organization, and those of
// servers, tools and plans. A trip of a key does not reach beyond a key that is bound to an
// agent: what comes from that one is the agent's.
func concerning(ctx context.Context, r database.Reader, orgID, agentID, keyID string) ([]concern, error) {
	found, err := database.Collect(ctx, r, func(s database.Scanner) (c concern, err error) {
		err = s.Scan(&c.scope, &c.subject, &c.position, database.ToBool(&c.lifted))
		return c, err
	}, `
		WITH RECURSIVE line (id, beyond) AS (
			SELECT id, 0 FROM api_key WHERE id = $3
			UNION
			SELECT k.made_by,
				CASE WHEN l.beyond = 1 OR EXISTS (SELECT 1 FROM agent_key b WHERE b.key_id = l.id) THEN 1 ELSE 0 END
			FROM api_key k
			JOIN line l ON k.id = l.id
			WHERE k.made_by IS NOT NULL
		)
		SELECT s.scope, s.subject, CASE WHEN s.lifted_position > s.position THEN s.lifted_position ELSE s.position END, CASE WHEN s.lifted_at IS NULL THEN 0 ELSE 1 END
		FROM agent_stop s
		WHERE s.org_id = $1 AND (s.scope = 'agent' AND s.subject = $2 OR s.scope = 'organization'
			OR s.scope IN ('server', 'tool', 'plan') AND s.lifted_at IS NULL
			OR s.id IN (
				SELECT k.stop_id FROM agent_stop_key k
				JOIN line l ON k.key_id = l.id
				JOIN agent_stop t ON t.id = k.stop_id
				WHERE l.beyond = 0 OR t.scope <> 'key' OR t.trip = ''))`, orgID, agentID, keyID)
	return found, database.Wrap(err, "read what is stopped")
}

const selectStops = `
	SELECT id, scope, subject, reason, position, stopped_by, stopped_at, trip, parent_id
	FROM agent_stop`

func scanStop(s database.Scanner) (st Stop, err error) {
	err = s.Scan(&st.ID, &st.Scope, &st.Subject, &st.Reason, &st.Index, &st.StoppedBy,
		database.ToTime(&st.StoppedAt), &st.Trip, database.ToText(&st.parent))
	return st, err
}

// activeStops reads the stops of a subject, or all, that are not lifted, the latest first.
func activeStops(
	ctx context.Context, r database.Reader, orgID string, scope Scope, subject string,
) ([]Stop, error) {
	stops, err := database.Collect(ctx, r, scanStop, selectStops+`
		WHERE org_id = $1 AND lifted_at IS NULL AND ($2 = '' OR scope = $2 AND subject = $3)
		ORDER BY position DESC LIMIT 1000`, orgID, string(scope), subject)
	if err != nil {
		return nil, fmt.Errorf("read what is stopped: %w", err)
	}
	for i := range stops {
		if stops[i].Keys, err = keysOfStop(ctx, r, stops[i].ID); err != nil {
			return nil, err
		}
	}
	return stops, nil
}

func keysOfStop(ctx context.Context, r database.Reader, id string) ([]string, error) {
	keys, err := database.Collect(ctx, r, database.Column[string],
		`SELECT key_id FROM agent_stop_key WHERE stop_id = $1 ORDER BY key_id`, id)
	return keys, database.Wrap(err, "read the keys that are stopped")
}

// insertStop stores a stop. Other organizations follow one that a person made, if it has keys.
func insertStop(ctx context.Context, tx *database.Tx, orgID string, s Stop) error {
	var parent any
	if s.parent != "" {
		parent = s.parent
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO agent_stop (id, org_id, scope, subject, reason, position, stopped_by, stopped_at, trip, parent_id,
			followed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		s.ID, orgID, string(s.Scope), s.Subject, s.Reason, s.Index, s.StoppedBy, database.Micros(s.StoppedAt),
		string(s.Trip), parent, database.Bit(len(s.Keys) == 0 || s.Trip != "" || s.parent != ""))
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

// markLifted lifts a stop. What follows from it elsewhere is to be lifted too; where an owner has lifted a stop that
// follows from one elsewhere, that is to be recorded there.
func markLifted(ctx context.Context, tx *database.Tx, id, by string, index int64) error {
	_, err := tx.Exec(ctx, `
		UPDATE agent_stop
		SET lifted_by = $2, lifted_at = $3, lifted_position = $4, followed = 0
		WHERE id = $1`, id, by, database.Micros(tx.Now()), index)
	return database.Wrap(err, "lift a stop")
}

func markToFollow(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE agent_stop SET followed = 0 WHERE id = $1`, id)
	return database.Wrap(err, "note what is to be done elsewhere")
}

func markFollowed(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE agent_stop SET followed = 1 WHERE id = $1`, id)
	return database.Wrap(err, "note what was done elsewhere")
}

// maxReadBack is how many of the latest decisions and plans of an agent are read for its keys,
// beside what is remembered of it: sightings are bounded.
const maxReadBack = 10_000

// usedWith are the keys that an agent's id was sent with: in calls, plans or requests for leases.
func usedWith(ctx context.Context, tx *database.Tx, orgID, agentID string) ([]string, error) {
	keys, err := database.Collect(ctx, tx, database.Column[string], `
		SELECT key_id FROM agent_seen WHERE org_id = $1 AND agent_id = $2`, orgID, agentID)
	if err != nil {
		return nil, fmt.Errorf("read the keys that an agent was seen with: %w", err)
	}
	// From key to key: there may be many leases of each.
	leased, err := database.Collect(ctx, tx, database.Column[string], `
		WITH RECURSIVE leased (id) AS (
			SELECT MIN(key_id) FROM agent_lease WHERE org_id = $1 AND agent_id = $2
			UNION
			SELECT (SELECT MIN(a.key_id) FROM agent_lease a WHERE a.org_id = $1 AND a.agent_id = $2 AND a.key_id > l.id)
			FROM leased l WHERE l.id IS NOT NULL
		)
		SELECT id FROM leased WHERE id IS NOT NULL`, orgID, agentID)
	if err != nil {
		return nil, fmt.Errorf("read the keys of an agent's leases: %w", err)
	}
	declared, err := database.Collect(ctx, tx, database.Column[string], `
		SELECT DISTINCT key_id
		FROM (
			SELECT key_id FROM plan WHERE org_id = $1 AND agent_id = $2
			ORDER BY created_at DESC, id DESC LIMIT $3
		) p`, orgID, agentID, maxReadBack)
	if err != nil {
		return nil, fmt.Errorf("read the keys of an agent's plans: %w", err)
	}
	latest, err := database.Collect(ctx, tx, database.Column[string], `
		SELECT DISTINCT k.id
		FROM (
			SELECT actor FROM audit_entry
			WHERE log = $1 AND agent = $2
			ORDER BY recorded_at DESC, position DESC LIMIT $3
		) e
		JOIN api_key k ON k.id = e.actor AND k.org_id = $1`, orgID, agentID, maxReadBack)
	return slices.Concat(keys, leased, declared, latest), database.Wrap(err, "read the keys of an agent's decisions")
}

// maxSharing is how many other agents an answer lists.
const maxSharing = 1_000

// sharing are the other agents that use any of the keys of a stop, sorted.
func sharing(ctx context.Context, tx *database.Tx, orgID string, stop Stop) ([]string, error) {
	agents, err := database.Collect(ctx, tx, database.Column[string], `
		SELECT a.agent_id FROM agent_stop_key k
		JOIN agent_key a ON a.key_id = k.key_id AND a.org_id = $1
		WHERE k.stop_id = $2 AND a.agent_id <> $3
		UNION
		SELECT a.agent_id FROM agent_stop_key k
		JOIN agent_seen a ON a.key_id = k.key_id AND a.org_id = $1
		WHERE k.stop_id = $2 AND a.agent_id <> $3
		ORDER BY agent_id LIMIT $4`, orgID, stop.ID, stop.Subject, maxSharing)
	return agents, database.Wrap(err, "find the agents of stopped keys")
}

// wouldShare are the other agents that would stop with one that is not stopped yet, sorted: those that use its keys, or
// keys that these made. It is for people to read before they decide.
func wouldShare(ctx context.Context, r database.Reader, orgID string, a Agent) ([]string, error) {
	roots := a.Keys
	if len(roots) == 0 {
		roots = a.SeenKeys
	}
	var all []string
	for _, root := range roots {
		agents, err := database.Collect(ctx, r, database.Column[string], `
			WITH RECURSIVE line (id) AS (
				SELECT id FROM api_key WHERE id = $2
				UNION
				SELECT k.id FROM api_key k JOIN line l ON k.made_by = l.id
			)
			SELECT a.agent_id FROM line l
			JOIN agent_key a ON a.key_id = l.id AND a.org_id = $1
			WHERE a.agent_id <> $3
			UNION
			SELECT a.agent_id FROM line l
			JOIN agent_seen a ON a.key_id = l.id AND a.org_id = $1
			WHERE a.agent_id <> $3
			ORDER BY agent_id LIMIT $4`, orgID, root, a.ID, maxSharing)
		if err != nil {
			return nil, fmt.Errorf("find the agents that share a key: %w", err)
		}
		all = append(all, agents...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxSharing)], nil
}

// countStopped counts the keys of the organization that stop: those that the stop names, and all that come from them.
func countStopped(ctx context.Context, tx *database.Tx, orgID string, stop Stop) (n int, err error) {
	err = tx.QueryRow(ctx, `
		WITH RECURSIVE line (id) AS (
			SELECT key_id FROM agent_stop_key WHERE stop_id = $2
			UNION
			SELECT k.id FROM api_key k JOIN line l ON k.made_by = l.id
		)
		SELECT COUNT(*) FROM api_key k JOIN line l ON k.id = l.id WHERE k.org_id = $1`, orgID, stop.ID).Scan(&n)
	return n, database.Wrap(err, "count the keys that stop")
}
