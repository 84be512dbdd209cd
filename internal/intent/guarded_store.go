package intent

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/intent/ticket"
	"writ/internal/principal"
)

// keepSessions is how long a guarded session is known after it was used last: as long as the longest plan.
const keepSessions = 30 * 24 * time.Hour

// findSession reads a guarded session of a key; nil: there is none.
func findSession(ctx context.Context, r database.Reader, p principal.Principal, id string) (*Session, error) {
	found := Session{ID: id, Turn: -1}
	err := r.QueryRow(ctx, `
		SELECT agent_id, turn, since, ended
		FROM guarded_session
		WHERE key_id = $1 AND session_id = $2 AND org_id = $3`, p.KeyID, id, p.OrgID).Scan(&found.AgentID, &found.Turn,
		&found.Since, database.ToBool(&found.Ended))
	if err = database.OrMissing(err, nil, "read a guarded session"); err != nil || found.Turn < 0 {
		return nil, err
	}
	return &found, nil
}

func storeSession(ctx context.Context, tx *database.Tx, g *guarded) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO guarded_session (key_id, session_id, org_id, agent_id, turn, since, ended, used_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (key_id, session_id) DO UPDATE
		SET turn = excluded.turn, since = excluded.since, ended = excluded.ended, used_at = excluded.used_at`,
		g.by.KeyID, g.ID, g.by.OrgID, g.AgentID, g.Turn, g.Since, database.Bit(g.Ended), database.Micros(tx.Now()))
	return database.Wrap(err, "store a guarded session")
}

// livePlans lists the live plans of the session.
func (g *guarded) livePlans(ctx context.Context, tx *database.Tx) ([]string, error) {
	ids, err := database.Collect(ctx, tx, database.Column[string], `
		SELECT id
		FROM plan
		WHERE key_id = $1 AND session_id = $2 AND session_id <> '' AND org_id = $3 AND status = 'active' AND expires_at > $4
		ORDER BY created_at, id`, g.by.KeyID, g.ID, g.by.OrgID, database.Micros(tx.Now()))
	return ids, database.Wrap(err, "list the plans of a session")
}

// endPlans ends the live plans of the session, and those that were accepted under them. Texts that were to be erased
// go with them.
func (g *guarded) endPlans(ctx context.Context, tx *database.Tx) (err error) {
	if g.ended, err = g.livePlans(ctx, tx); err != nil || len(g.ended) == 0 {
		return err
	}
	now := database.Micros(tx.Now())
	for _, query := range []string{
		`UPDATE plan
		SET status = 'completed', ended_at = $4
		WHERE status = 'active' AND parent_id IN (
			SELECT id FROM plan WHERE key_id = $1 AND session_id = $2 AND session_id <> '' AND org_id = $3)`,
		`UPDATE plan
		SET status = 'completed', ended_at = $4
		WHERE key_id = $1 AND session_id = $2 AND session_id <> '' AND org_id = $3 AND status = 'active'`,
	} {
		if _, err := tx.Exec(ctx, query, g.by.KeyID, g.ID, g.by.OrgID, now); err != nil {
			return fmt.Errorf("end the plans of a session: %w", err)
		}
	}
	_, err = tx.Exec(ctx, `
		UPDATE plan_anchor
		SET sealed = $4
		WHERE shown = '' AND plan_id IN (
			SELECT id FROM plan
			WHERE key_id = $1 AND session_id = $2 AND session_id <> '' AND org_id = $3 AND status <> 'active')`,
		g.by.KeyID, g.ID, g.by.OrgID, []byte{})
	return database.Wrap(err, "erase the plans of a session")
}

// useTicket notes that a ticket was used, and reports whether it was not before.
func useTicket(ctx context.Context, tx *database.Tx, t *ticket.Ticket) (bool, error) {
	added, err := tx.Exec(ctx, `INSERT INTO ticket_use (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`,
		t.ID, database.Micros(t.Expires))
	return added == 1, database.Wrap(err, "use a ticket")
}

// selectTurnPlans lists the plans that a new one of a guarded session is compared with, ended or not.
func selectTurnPlans(
	ctx context.Context, r database.Reader, b plan.Binding, since int64, limit int,
) ([]string, error) {
	ids, err := database.Collect(ctx, r, database.Column[string], `
		SELECT id
		FROM plan
		WHERE key_id = $1 AND session_id = $2 AND session_id <> '' AND org_id = $3 AND turn >= $4 AND parent_id IS NULL
		ORDER BY created_at, id
		LIMIT $5`, b.KeyID, b.Session, b.OrgID, since, limit)
	return ids, database.Wrap(err, "list the plans of a turn")
}

// Current is what the calls of a session are judged by.
type Current struct {
	// PlanID is the plan that the session declared last, whatever its status; in a guarded session, of its turn. Empty:
	// there is none.
	PlanID  string
	Guarded bool
	Turn    int64
	Ended   bool // the session
}

// OfSession returns what the calls of a session of a key are judged by.
func OfSession(ctx context.Context, r database.Reader, orgID, keyID, sessionID string) (c Current, err error) {
	if sessionID == "" {
		return Current{}, nil
	}
	err = r.QueryRow(ctx, `
		SELECT
			COALESCE((
				SELECT p.id
				FROM plan p
				WHERE p.key_id = $1 AND p.session_id = $2 AND p.session_id <> '' AND p.org_id = $3
					AND p.turn >= COALESCE(g.since, 0)
				ORDER BY p.created_at DESC, p.id DESC
				LIMIT 1
			), ''),
			COALESCE(g.turn, -1),
			COALESCE(g.ended, 0)
		FROM (SELECT 1 AS one) AS always
		LEFT JOIN guarded_session g ON g.key_id = $1 AND g.session_id = $2 AND g.org_id = $3`,
		keyID, sessionID, orgID).Scan(&c.PlanID, &c.Turn, database.ToBool(&c.Ended))
	if err != nil {
		return Current{}, fmt.Errorf("find the plan of a session: %w", err)
	}
	if c.Guarded = c.Turn >= 0; !c.Guarded {
		c.Turn = 0
	}
	return c, nil
}

// pruneSessions forgets guarded sessions that nobody used for long, and tickets that have expired.
func pruneSessions(ctx context.Context, tx *database.Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM ticket_use WHERE expires_at < $1`, database.Micros(tx.Now()))
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM guarded_session WHERE used_at < $1`,
			database.Micros(tx.Now().Add(-keepSessions)))
	}
	return err
}
