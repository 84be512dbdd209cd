package intent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/page"
	"writ/internal/wordindex"
)

// planRow is a stored plan with its latest anchor.
type planRow struct {
	View
	stored    plan.Status
	ownerID   string
	signature string
	jwtHash   [sha256.Size]byte
	sealed    []byte
	shown     []byte
	grounds   bool
}

// columns are those that scanPlan reads, of plan as p and plan_anchor as a.
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
	p.grounds,
	p.revoked_at,
	a.root`

const tables = ` FROM plan p JOIN plan_anchor a ON a.plan_id = p.id AND a.number = p.anchor `

// scanPlan reads columns, and more after them.
func scanPlan(s database.Scanner, more ...any) (r planRow, err error) {
	var jwtHash []byte
	b := &r.Binding
	err = s.Scan(append([]any{
		&r.ID, &b.OrgID, &b.KeyID, &r.ownerID, &b.UserID, &b.Email, &b.AgentID, &b.Context, &b.Session, &r.ParentID,
		&r.stored, &r.Goal, &r.Source, &r.Steps, &r.Anchor, &r.signature, &jwtHash, database.ToTime(&r.IssuedAt),
		database.ToTime(&r.ExpiresAt), database.ToTime(&r.CreatedAt), database.ToOptionalTime(&r.EndedAt),
		database.ToBool(&r.grounds), database.ToOptionalTime(&r.RevokedAt), &r.Hash,
	}, more...)...)
	copy(r.jwtHash[:], jwtHash)
	return r, err
}

func insertPlan(ctx context.Context, tx *database.Tx, n *newPlan, grounds bool) error {
	now, b, root := database.Micros(tx.Now()), n.binding, n.tree.Root()
	signature, jwt := sha256.Sum256([]byte(n.issued.Token.Signature)), sha256.Sum256([]byte(n.issued.JWT))
	_, err := tx.Exec(ctx, `
		INSERT INTO plan (id, org_id, key_id, owner_id, user_id, email, agent_id, context_id, session_id, parent_id, status,
			goal, source, steps, anchor, signature, signature_hash, jwt_hash, issued_at, expires_at, created_at, grounds,
			turn)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 1, $15, $16, $17, $18, $19, $20, $21, $22)`,
		n.id, b.OrgID, b.KeyID, n.by.UserID, b.UserID, b.Email, b.AgentID, b.Context, b.Session,
		database.OptionalText(n.parentID), string(plan.Active),
		n.goal, n.source, len(n.plan.Steps), n.issued.Token.Signature, signature[:], jwt[:],
		database.Micros(n.issuedAt), database.Micros(n.expires), now, database.Bit(grounds), n.turn())
	if err != nil {
		return fmt.Errorf("store plan %s: %w", n.id, err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO plan_anchor (plan_id, number, root, sealed, shown, position, created_at)
		VALUES ($1, 1, $2, $3, $4, -1, $5)`, n.id, root, n.sealed, string(n.shown), now)
	if err != nil {
		return fmt.Errorf("store the text of plan %s: %w", n.id, err)
	}
	if err := wordindex.Enqueue(ctx, tx, b.OrgID, planWords, n.id, tx.Now()); err != nil {
		return err
	}
	return insertRequest(ctx, tx, n)
}

func insertRequest(ctx context.Context, tx *database.Tx, n *newPlan) error {
	if n.request.IdempotencyKey == "" {
		return nil
	}
	name := sha256.Sum256([]byte(n.request.IdempotencyKey))
	_, err := tx.Exec(ctx, `
		INSERT INTO plan_request (key_id, request, body, plan_id, created_at)
		VALUES ($1, $2, $3, $4, $5)`, n.by.KeyID, name[:], n.body[:], n.id, database.Micros(tx.Now()))
	return database.Wrap(err, "store the Idempotency-Key of plan %s", n.id)
}

// selectRequest finds the request that an Idempotency-Key was used for, if any.
func selectRequest(
	ctx context.Context, r database.Reader, keyID, idempotencyKey string,
) (planID string, body []byte, err error) {
	name := sha256.Sum256([]byte(idempotencyKey))
	err = r.QueryRow(ctx, `SELECT plan_id, body FROM plan_request WHERE key_id = $1 AND request = $2`, keyID,
		name[:]).Scan(&planID, &body)
	return planID, body, database.OrMissing(err, nil, "look up an Idempotency-Key")
}

// selectPlan reads a plan of an organization. A plan of another one is NotFound.
func selectPlan(ctx context.Context, r database.Reader, orgID, id string) (planRow, error) {
	if !database.IsID(id) {
		return planRow{}, noSuchPlan()
	}
	var sealed []byte
	var shown string
	row, err := scanPlan(r.QueryRow(ctx, `SELECT `+columns+`, a.sealed, a.shown`+tables+`WHERE p.id = $1`, id), &sealed,
		&shown)
	if err == nil && orgID != anyOrg && row.Binding.OrgID != orgID {
		return planRow{}, noSuchPlan()
	}
	row.sealed, row.shown = sealed, []byte(shown)
	return row, database.OrMissing(err, noSuchPlan(), "read plan %s", id)
}

// planState is what can change of a cached plan.
type planState struct {
	status plan.Status
	anchor int64
	root   string
}

func selectState(ctx context.Context, r database.Reader, id string) (at planState, err error) {
	err = r.QueryRow(ctx, `SELECT p.status, p.anchor, a.root`+tables+`WHERE p.id = $1`, id).Scan(&at.status, &at.anchor,
		&at.root)
	return at, err
}

// selectBySignature finds the newest plan with this token: equal requests within
// one second get equal tokens.
func selectBySignature(ctx context.Context, r database.Reader, hash []byte, root string) (id string, err error) {
	err = r.QueryRow(ctx, `
		SELECT p.id
		FROM plan p JOIN plan_anchor a ON a.plan_id = p.id AND a.number = 1
		WHERE p.signature_hash = $1 AND a.root = $2
		ORDER BY p.created_at DESC, p.id DESC
		LIMIT 1`, hash, root).Scan(&id)
	return id, database.OrMissing(err, nil, "find a plan by its token")
}

// selectLive lists the live plans of exactly this holder, newest first, without
// those that were accepted under another plan.
func selectLive(ctx context.Context, r database.Reader, b plan.Binding, now time.Time, limit int) ([]string, error) {
	ids, err := database.Collect(ctx, r, database.Column[string], `
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
	var where database.Where
	where.And(`p.org_id = ?`, orgID)
	switch f.Status {
	case "":
	case plan.Active:
		where.And(`p.status = 'active' AND p.expires_at > ?`, database.Micros(now))
	case plan.Expired:
		where.And(`(p.status = 'expired' OR p.status = 'active' AND p.expires_at <= ?)`, database.Micros(now))
	default:
		where.And(`p.status = ?`, string(f.Status))
	}
	if f.AgentID != "" {
		where.And(`p.agent_id = ?`, f.AgentID)
	}
	if f.UserID != "" {
		where.And(`(p.user_id = ? OR p.email = ?)`, f.UserID, strings.ToLower(f.UserID))
	}
	if f.Since != nil {
		where.And(`p.created_at >= ?`, database.Micros(*f.Since))
	}
	if f.Before != nil {
		where.And(`p.created_at < ?`, database.Micros(*f.Before))
	}
	if !after.IsZero() {
		where.And(`(p.created_at, p.id) < (?, ?)`, after.Micros, after.ID)
	}
	query := `SELECT ` + columns + tables + where.String() + `ORDER BY p.created_at DESC, p.id DESC LIMIT ` +
		where.Bind(limit)
	rows, err := database.Collect(ctx, r, func(s database.Scanner) (planRow, error) { return scanPlan(s) }, query,
		where.Args...)
	return rows, database.Wrap(err, "list plans")
}

// below are the ids of all plans that were accepted under $1 or delegated from it, however many were between.
const below = `
	WITH RECURSIVE below (id) AS (
		SELECT id FROM plan WHERE parent_id = $1
		UNION
		SELECT p.id FROM plan p JOIN below b ON p.parent_id = b.id
	)
	SELECT id FROM below`

// updateStatus changes the status of a plan. With a plan that ends, those that were
// accepted under it end too, and its text goes if it was to be erased.
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
		WHERE status = 'active' AND id IN (`+below+`)`, row.ID, string(status), database.OptionalMicros(ended))
	if err != nil || len(row.shown) > 0 {
		return database.Wrap(err, "end the plans under plan %s", row.ID)
	}
	return eraseText(ctx, tx, row.Binding.OrgID, row.ID) // the rest of an erasure while the plan was live
}
