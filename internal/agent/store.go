package agent

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/names"
	"writ/internal/page"
)

// agents selects registered agents, the earliest proposal of each id, ids that were only seen, and others that were
// stopped once, with the same columns.
const agents = `
	SELECT a.id, a.created_at, a.updated_at, a.name, a.owner_id, a.product, a.environment, a.description, a.public_key,
		a.intent_required, a.proofs_optional, a.trips,
		CASE WHEN a.suspended_at IS NOT NULL OR m.user_id IS NULL THEN 'suspended' ELSE 'active' END AS status,
		CASE WHEN a.suspended_at IS NULL AND m.user_id IS NULL THEN 'its owner left the organization'
			ELSE a.suspended_for END AS suspended_for
	FROM agent a
	LEFT JOIN organization_member m ON m.org_id = a.org_id AND m.user_id = a.owner_id
	WHERE a.org_id = $1
	UNION ALL
	SELECT p.agent_id, p.created_at, NULL, p.name, p.owner_id, p.product, p.environment, p.description, p.public_key,
		p.intent_required, 0, '', 'pending', ''
	FROM agent_proposal p
	WHERE p.org_id = $1 AND NOT EXISTS (
		SELECT 1 FROM agent_proposal e
		WHERE e.org_id = p.org_id AND e.agent_id = p.agent_id AND (e.created_at, e.key_id) < (p.created_at, p.key_id))
	UNION ALL
	SELECT s.agent_id, MIN(s.first_seen_at), NULL, '', '', '', '', '', NULL, 0, 0, '', 'unregistered', ''
	FROM agent_seen s
	WHERE s.org_id = $1 AND NOT EXISTS (SELECT 1 FROM agent r WHERE r.org_id = s.org_id AND r.id = s.agent_id)
		AND NOT EXISTS (SELECT 1 FROM agent_proposal p WHERE p.org_id = s.org_id AND p.agent_id = s.agent_id)
	GROUP BY s.agent_id
	UNION ALL
	SELECT t.subject, MIN(t.stopped_at), NULL, '', '', '', '', '', NULL, 0, 0, '', 'unregistered', ''
	FROM agent_stop t
	WHERE t.org_id = $1 AND t.scope = 'agent'
		AND NOT EXISTS (SELECT 1 FROM agent r WHERE r.org_id = t.org_id AND r.id = t.subject)
		AND NOT EXISTS (SELECT 1 FROM agent_proposal p WHERE p.org_id = t.org_id AND p.agent_id = t.subject)
		AND NOT EXISTS (SELECT 1 FROM agent_seen s WHERE s.org_id = t.org_id AND s.agent_id = t.subject)
	GROUP BY t.subject`

// columns are those that scanAgent reads, of agents as a.
const columns = `
	a.id, a.created_at, a.updated_at, a.name, a.owner_id, a.product, a.environment, a.description, a.public_key,
	a.intent_required, a.proofs_optional, a.trips,
	CASE WHEN EXISTS (SELECT 1 FROM agent_stop p WHERE p.org_id = $1 AND p.scope = 'agent' AND p.subject = a.id
		AND p.lifted_at IS NULL) THEN 'killed' ELSE a.status END,
	a.suspended_for,
	(SELECT MAX(s.last_seen_at) FROM agent_seen s WHERE s.org_id = $1 AND s.agent_id = a.id),
	(SELECT s.host FROM agent_seen s WHERE s.org_id = $1 AND s.agent_id = a.id ORDER BY s.last_seen_at DESC, s.key_id LIMIT 1)`

func scanAgent(s database.Scanner) (a Agent, err error) {
	var key []byte
	var trips string
	err = s.Scan(&a.ID, database.ToTime(&a.CreatedAt), database.ToOptionalTime(&a.UpdatedAt), &a.Name, &a.OwnerID,
		&a.Product, &a.Environment, &a.Description, &key, database.ToBool(&a.IntentRequired),
		database.ToBool(&a.ProofsOptional), &trips,
		&a.Status, &a.SuspendedFor, database.ToOptionalTime(&a.LastSeenAt), database.ToText(&a.Host))
	if err == nil {
		a.Trips, err = parseTrips(trips)
	}
	a.PublicKey = key
	return a, err
}

// find reads an agent of an organization that is registered, is proposed, was seen or was stopped.
func find(ctx context.Context, r database.Reader, orgID, id string) (Agent, error) {
	if !names.Valid(id) {
		return Agent{}, noSuchAgent()
	}
	a, err := scanAgent(r.QueryRow(ctx, `SELECT `+columns+` FROM (`+agents+`) a WHERE a.id = $2`, orgID, id))
	if err != nil {
		return Agent{}, database.OrMissing(err, noSuchAgent(), "read an agent")
	}
	bound, err := boundKeys(ctx, r, orgID, []string{id})
	a.Keys = bound[id]
	return a, err
}

func list(
	ctx context.Context, r database.Reader, orgID string, f Filter, after page.Cursor, limit int,
) ([]Agent, error) {
	where := database.Where{Args: []any{orgID}}
	if f.Status != "" {
		if f.Status == Killed {
			where.And(isKilled)
		} else {
			where.And(`a.status = ? AND NOT `+isKilled, string(f.Status))
		}
	}
	if f.OwnerID != "" {
		where.And(`a.owner_id = ?`, f.OwnerID)
	}
	if !after.IsZero() {
		where.And(`(a.created_at, a.id) < (?, ?)`, after.Micros, after.ID)
	}
	const order = ` ORDER BY a.created_at DESC, a.id DESC`
	// The page is cut before what was seen of each agent is looked up.
	found, err := database.Collect(ctx, r, scanAgent, `SELECT `+columns+` FROM (SELECT * FROM (`+agents+`) a`+
		where.String()+order+` LIMIT `+where.Bind(limit)+`) a`+order, where.Args...)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	bound, err := boundKeys(ctx, r, orgID, idsOf(found))
	for i := range found {
		found[i].Keys = bound[found[i].ID]
	}
	return found, err
}

// boundKeys are the keys of agents, sorted.
func boundKeys(ctx context.Context, r database.Reader, orgID string, ids []string) (map[string][]string, error) {
	bound := map[string][]string{}
	if len(ids) == 0 {
		return bound, nil
	}
	where := database.Where{}
	where.And(`org_id = ?`, orgID)
	marks := bindAll(&where, ids)
	type pair struct{ agent, key string }
	pairs, err := database.Collect(ctx, r, func(s database.Scanner) (p pair, err error) {
		err = s.Scan(&p.agent, &p.key)
		return p, err
	}, `SELECT agent_id, key_id FROM agent_key`+where.String()+`AND agent_id IN (`+marks+`)`, where.Args...)
	for _, p := range pairs {
		bound[p.agent] = append(bound[p.agent], p.key)
	}
	for _, keys := range bound {
		slices.Sort(keys)
	}
	return bound, database.Wrap(err, "read the keys of agents")
}

func seenKeys(ctx context.Context, r database.Reader, orgID, id string) ([]string, error) {
	keys, err := database.Collect(ctx, r, database.Column[string], `
		SELECT key_id FROM agent_seen
		WHERE org_id = $1 AND agent_id = $2
		ORDER BY last_seen_at DESC, key_id LIMIT 100`, orgID, id)
	return keys, database.Wrap(err, "read the keys that an agent was seen with")
}

func countAgents(ctx context.Context, r database.Reader, orgID string) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT COUNT(*) FROM agent WHERE org_id = $1`, orgID).Scan(&n)
	return n, database.Wrap(err, "count the agents of organization %s", orgID)
}

func ownedBy(ctx context.Context, r database.Reader, orgID, userID string) ([]string, error) {
	ids, err := database.Collect(ctx, r, database.Column[string], `
		SELECT id FROM agent
		WHERE org_id = $1 AND owner_id = $2 AND suspended_at IS NULL
		ORDER BY id`, orgID, userID)
	return ids, database.Wrap(err, "find the agents of a member")
}

// namesFor reads what Names gives.
func namesFor(ctx context.Context, r database.Reader, orgID, keyID, ownerID string, most int) ([]Agent, error) {
	read := func(s database.Scanner) (a Agent, err error) {
		err = s.Scan(&a.ID, &a.Name)
		return a, err
	}
	const from = `
		SELECT a.id, a.name FROM agent a
		JOIN organization_member m ON m.org_id = a.org_id AND m.user_id = a.owner_id
		WHERE a.org_id = $1 AND a.suspended_at IS NULL AND `
	const order = ` ORDER BY a.created_at, a.id LIMIT `
	bound, err := database.Collect(ctx, r, read, from+
		`a.id IN (SELECT agent_id FROM agent_key WHERE org_id = $1 AND key_id = $2)`+order+`$3`, orgID, keyID, most)
	if err == nil && len(bound) == 0 {
		bound, err = database.Collect(ctx, r, read, from+
			`a.owner_id = $2 AND NOT EXISTS (SELECT 1 FROM agent_key k WHERE k.org_id = a.org_id AND k.agent_id = a.id)`+
			order+`$3`, orgID, ownerID, most)
	}
	return bound, database.Wrap(err, "read the agents of a key")
}

func insert(ctx context.Context, tx *database.Tx, orgID string, a Agent) error {
	now := database.Micros(tx.Now())
	trips, err := a.Trips.text()
	if err != nil {
		return fmt.Errorf("store trips: %w", err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO agent (org_id, id, name, owner_id, product, environment, description, public_key, intent_required,
			suspended_for, created_at, updated_at, trips)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', $10, $10, $11)`,
		orgID, a.ID, a.Name, a.OwnerID, a.Product, a.Environment, a.Description, optionalBytes(a.PublicKey),
		database.Bit(a.IntentRequired), now, trips)
	if err != nil {
		return fmt.Errorf("store an agent: %w", err)
	}
	return bind(ctx, tx, orgID, a)
}

func update(ctx context.Context, tx *database.Tx, orgID string, a Agent) error {
	trips, err := a.Trips.text()
	if err != nil {
		return fmt.Errorf("store trips: %w", err)
	}
	_, err = tx.Exec(ctx, `
		UPDATE agent
		SET name = $3, owner_id = $4, product = $5, environment = $6, description = $7, public_key = $8,
			intent_required = $9, updated_at = $10, trips = $11, proofs_optional = $12
		WHERE org_id = $1 AND id = $2`,
		orgID, a.ID, a.Name, a.OwnerID, a.Product, a.Environment, a.Description, optionalBytes(a.PublicKey),
		database.Bit(a.IntentRequired), database.Micros(tx.Now()), trips, database.Bit(a.ProofsOptional))
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM agent_key WHERE org_id = $1 AND agent_id = $2`, orgID, a.ID)
	}
	if err != nil {
		return fmt.Errorf("change an agent: %w", err)
	}
	return bind(ctx, tx, orgID, a)
}

// bind stores the keys of an agent that has none yet.
func bind(ctx context.Context, tx *database.Tx, orgID string, a Agent) error {
	rows := make([][]any, len(a.Keys))
	for i, key := range a.Keys {
		rows[i] = []any{orgID, a.ID, key}
	}
	err := tx.Insert(ctx, `INSERT INTO agent_key (org_id, agent_id, key_id)`, rows, ``)
	return database.Wrap(err, "bind keys to an agent")
}

// CarryBindings binds the agents of a key to the one that replaces it.
func CarryBindings(ctx context.Context, tx *database.Tx, from, to string) error {
	_, err := tx.Exec(ctx, `UPDATE agent_key SET key_id = $2 WHERE key_id = $1`, from, to)
	return database.Wrap(err, "bind the agents of a key to another")
}

func updateStatus(ctx context.Context, tx *database.Tx, orgID string, a Agent) error {
	now := tx.Now()
	suspendedAt := &now
	if a.Status == Active {
		suspendedAt = nil
	}
	_, err := tx.Exec(ctx, `
		UPDATE agent
		SET suspended_at = $3, suspended_for = $4, updated_at = $5
		WHERE org_id = $1 AND id = $2`,
		orgID, a.ID, database.OptionalMicros(suspendedAt), a.SuspendedFor, database.Micros(now))
	return database.Wrap(err, "change the status of an agent")
}

// optionalBytes are stored as NULL where there are none.
func optionalBytes(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}
