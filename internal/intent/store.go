package intent

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/page"
)

// planRow is a plan as it is stored, with its latest anchor.
type planRow struct {
	View
	stored    plan.Status
	ownerID   string
	signature string
	jwtHash   [sha256.Size]byte
	sealed    []byte
	shown     []byte
}

// columns are those scanPlan reads, of plan as p and plan_anchor as a.
const columns = `
	p.id,
	p.org_id,
	p.key_id,
	p.owner_id,
	p.user_id,
	p.email,
	p.agent_id,
	p.context_id,
	p.session_id,
	COALESCE(p.parent_id, ''),
	p.status,
	p.goal,
	p.source,
	p.steps,
	p.anchor,
	p.signature,
	p.jwt_hash,
	p.issued_at,
	p.expires_at,
	p.created_at,
	p.ended_at,
	a.root`

const tables = ` FROM plan p JOIN plan_anchor a ON a.plan_id = p.id AND a.number = p.anchor `

// scanPlan reads columns, and more after them.
func scanPlan(s database.Scanner, more ...any) (planRow, error) {
	var r planRow
	var jwtHash []byte
	var issued, expires, created int64
	var ended sql.NullInt64
	b := &r.Binding
	err := s.Scan(append([]any{
		&r.ID, &b.OrgID, &b.KeyID, &r.ownerID, &b.UserID, &b.Email, &b.AgentID, &b.Context, &b.Session, &r.ParentID,
		&r.stored, &r.Goal, &r.Source, &r.Steps, &r.Anchor, &r.signature, &jwtHash, &issued, &expires, &created, &ended,
		&r.Hash,
	}, more...)...)
	copy(r.jwtHash[:], jwtHash)
	r.IssuedAt, r.ExpiresAt, r.CreatedAt = database.Time(issued), database.Time(expires), database.Time(created)
	r.EndedAt = database.OptionalTime(ended)
	return r, err
}

func insertPlan(ctx context.Context, tx *database.Tx, n *newPlan) error {
	now, b, root := database.Micros(tx.Now()), n.binding, n.tree.Root()
	signature, jwt := sha256.Sum256([]byte(n.token.Signature)), sha256.Sum256([]byte(n.jwt))
	_, err := tx.Exec(ctx, `
		INSERT INTO plan (id, org_id, key_id, owner_id, user_id, email, agent_id, context_id, session_id, parent_id, status,
			goal, source, steps, anchor, signature, signature_hash, jwt_hash, issued_at, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 1, $15, $16, $17, $18, $19, $20)`,
		n.id, b.OrgID, b.KeyID, n.by.UserID, b.UserID, b.Email, b.AgentID, b.Context, b.Session,
		database.OptionalText(n.parentID), string(plan.Active),
		n.goal, n.source, len(n.plan.Steps), n.token.Signature, signature[:], jwt[:],
		database.Micros(n.issued), database.Micros(n.expires), now)
	if err != nil {
		return fmt.Errorf("store plan %s: %w", n.id, err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO plan_anchor (plan_id, number, root, sealed, shown, position, created_at)
		VALUES ($1, 1, $2, $3, $4, -1, $5)`, n.id, root, n.sealed, string(n.shown), now)
	if err != nil {
		return fmt.Errorf("store the text of plan %s: %w", n.id, err)
	}
	return insertRequest(ctx, tx, n)
}

func insertRequest(ctx context.Context, tx *database.Tx, n *newPlan) error {
	if n.request.IdempotencyKey == "" {
		return nil
	}
	body, err := n.body()
	if err != nil {
		return err
	}
	name := sha256.Sum256([]byte(n.request.IdempotencyKey))
	_, err = tx.Exec(ctx, `
		INSERT INTO plan_request (key_id, request, body, plan_id, created_at)
		VALUES ($1, $2, $3, $4, $5)`, n.by.KeyID, name[:], body, n.id, database.Micros(tx.Now()))
	return database.Wrap(err, "remember the request of plan %s", n.id)
}

// selectRequest finds what an Idempotency-Key was used for; nothing: empty.
func selectRequest(
	ctx context.Context, r database.Reader, keyID string, name []byte,
) (planID string, body []byte, err error) {
	err = r.QueryRow(ctx, `SELECT plan_id, body FROM plan_request WHERE key_id = $1 AND request = $2`, keyID,
		name).Scan(&planID, &body)
	return planID, body, database.OrMissing(err, nil, "look up an Idempotency-Key")
}

// selectPlan reads a plan of an organization. Any other does not exist.
func selectPlan(ctx context.Context, r database.Reader, orgID, id string) (planRow, error) {
	if !database.IsID(id) {
		return planRow{}, noSuchPlan()
	}
	var sealed []byte
	var shown string
	row, err := scanPlan(r.QueryRow(ctx, `SELECT `+columns+`, a.sealed, a.shown`+tables+`WHERE p.id = $1`, id), &sealed,
		&shown)
	if errors.Is(err, sql.ErrNoRows) || err == nil && orgID != anyOrg && row.Binding.OrgID != orgID {
		return planRow{}, noSuchPlan()
	}
	if err != nil {
		return planRow{}, fmt.Errorf("read plan %s: %w", id, err)
	}
	row.sealed, row.shown = sealed, []byte(shown)
	return row, nil
}

func isNotFound(err error) bool { return fault.Is(err, fault.NotFound) }

// selectStanding reads what can change of a plan that is remembered.
func selectStanding(ctx context.Context, r database.Reader, id string) (status plan.Status, root string, err error) {
	err = r.QueryRow(ctx, `SELECT p.status, a.root`+tables+`WHERE p.id = $1`, id).Scan(&status, &root)
	return status, root, err
}

// selectBySignature finds the newest plan with this token. Equal requests within
// one second have equal tokens.
func selectBySignature(ctx context.Context, r database.Reader, hash []byte, root string) (id string, err error) {
	err = r.QueryRow(ctx, `SELECT p.id`+tables+`
		WHERE p.signature_hash = $1 AND a.root = $2
		ORDER BY p.created_at DESC, p.id DESC
		LIMIT 1`, hash, root).Scan(&id)
	return id, database.OrMissing(err, nil, "find a plan by its token")
}

func selectOfSession(ctx context.Context, r database.Reader, orgID, keyID, sessionID string) (id string, err error) {
	err = r.QueryRow(ctx, `
		SELECT id
		FROM plan
		WHERE key_id = $1 AND session_id = $2 AND session_id <> '' AND org_id = $3
		ORDER BY created_at DESC, id DESC
		LIMIT 1`, keyID, sessionID, orgID).Scan(&id)
	return id, database.OrMissing(err, nil, "find the plan of a session")
}

// selectLive lists the live plans of exactly this holder, newest first, without
// those that were let through under another.
func selectLive(ctx context.Context, r database.Reader, b plan.Binding, now time.Time, limit int) ([]string, error) {
	ids, err := database.Collect(ctx, r, func(s database.Scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `
		SELECT id
		FROM plan
		WHERE org_id = $1 AND key_id = $2 AND user_id = $3 AND agent_id = $4 AND context_id = $5
			AND status = 'active' AND expires_at > $6 AND parent_id IS NULL
		ORDER BY created_at DESC, id DESC
		LIMIT $7`, b.OrgID, b.KeyID, b.UserID, b.AgentID, b.Context, database.Micros(now), limit)
	return ids, database.Wrap(err, "list live plans")
}

// selectPlans reads up to limit plans after a position, newest first.
func selectPlans(
	ctx context.Context, r database.Reader, orgID string, f Filter, now time.Time, after page.Cursor, limit int,
) ([]planRow, error) {
	var where []string
	var args []any
	and := func(condition string, values ...any) {
		places := make([]any, len(values))
		for i, value := range values {
			args = append(args, value)
			places[i] = len(args)
		}
		where = append(where, fmt.Sprintf(condition, places...))
	}
	and(`p.org_id = $%d`, orgID)
	switch f.Status {
	case "":
	case plan.Active:
		and(`p.status = 'active' AND p.expires_at > $%d`, database.Micros(now))
	case plan.Expired:
		and(`(p.status = 'expired' OR p.status = 'active' AND p.expires_at <= $%d)`, database.Micros(now))
	default:
		and(`p.status = $%d`, string(f.Status))
	}
	if f.AgentID != "" {
		and(`p.agent_id = $%d`, f.AgentID)
	}
	if f.UserID != "" {
		and(`(p.user_id = $%d OR p.email = $%d)`, f.UserID, strings.ToLower(f.UserID))
	}
	if f.Since != nil {
		and(`p.created_at >= $%d`, database.Micros(*f.Since))
	}
	if f.Before != nil {
		and(`p.created_at < $%d`, database.Micros(*f.Before))
	}
	if !after.IsZero() {
		and(`(p.created_at, p.id) < ($%d, $%d)`, after.Micros, after.ID)
	}
	args = append(args, limit)
	rows, err := database.Collect(ctx, r, func(s database.Scanner) (planRow, error) { return scanPlan(s) },
		`SELECT `+columns+tables+`WHERE `+strings.Join(where, ` AND `)+`
		ORDER BY p.created_at DESC, p.id DESC
		LIMIT `+fmt.Sprintf(`$%d`, len(args)), args...)
	return rows, database.Wrap(err, "list plans")
}

// updateStatus gives a plan another status. With a plan that ends, those that
// were let through under it end too, and its text goes if it was to be erased.
func updateStatus(ctx context.Context, tx *database.Tx, row planRow, status plan.Status) error {
	var ended *time.Time
	if now := tx.Now(); status != plan.Active {
		ended = &now
	}
	_, err := tx.Exec(ctx, `
		UPDATE plan
		SET status = $3, ended_at = $4
		WHERE org_id = $1 AND id = $2`, row.Binding.OrgID, row.ID, string(status), database.OptionalMicros(ended))
	if err != nil {
		return fmt.Errorf("set the status of plan %s: %w", row.ID, err)
	}
	if status == plan.Active {
		return nil
	}
	_, err = tx.Exec(ctx, `
		UPDATE plan
		SET status = $2, ended_at = $3
		WHERE parent_id = $1 AND status = 'active'`, row.ID, string(status), database.OptionalMicros(ended))
	if err != nil {
		return fmt.Errorf("end what is under plan %s: %w", row.ID, err)
	}
	if len(row.shown) > 0 {
		return nil
	}
	return eraseText(ctx, tx, row.Binding.OrgID, row.ID) // it waited for the end
}
