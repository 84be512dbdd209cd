package delegation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
)

// columns are those scanRequest reads, of approval_request as r and
// approval_grant as g.
const columns = `
	r.id, r.org_id, r.key_id, r.owner_id, r.kind, r.server, r.tool, r.digest, r.arguments,
	r.user_id, r.email, r.agent_id, r.session_id, r.plan_id,
	r.policy_id, r.policy_version, r.rule, r.reason, r.message, r.role, r.needed,
	r.status, r.note, r.self_approved, r.created_at, r.expires_at, r.decided_at,
	COALESCE(g.id, ''), COALESCE(g.expires_at, 0), g.used_at`

const tables = ` FROM approval_request r LEFT JOIN approval_grant g ON g.request_id = r.id `

func scanRequest(s database.Scanner) (r Request, err error) {
	var created, expires, granted, self int64
	var decided, used sql.NullInt64
	err = s.Scan(
		&r.ID, &r.OrgID, &r.KeyID, &r.OwnerID, &r.Kind, &r.Server, &r.Tool, &r.Digest, &r.Arguments,
		&r.UserID, &r.Email, &r.AgentID, &r.SessionID, &r.PlanID,
		&r.PolicyID, &r.PolicyVersion, &r.Rule, &r.Reason, &r.Message, &r.Role, &r.Needed,
		&r.Status, &r.Note, &self, &created, &expires, &decided,
		&r.grant.id, &granted, &used)
	r.CreatedAt, r.ExpiresAt, r.DecidedAt = database.Time(created), database.Time(expires), database.OptionalTime(decided)
	r.SelfApproved, r.grant.expiresAt, r.grant.used = self != 0, database.Time(granted), used.Valid
	return r, err
}

// newest is how many requests about one call are looked at. There are several
// only where calls differ in plan or e-mail.
const newest = 20

// selectForCall reads the latest requests about a call that want the same of
// approvers. Plan and e-mail tell calls apart where both sides state them.
func selectForCall(ctx context.Context, r database.Reader, c Call, w Want, since time.Time) ([]Request, error) {
	requests, err := database.Collect(ctx, r, scanRequest, `SELECT `+columns+tables+`
		WHERE r.key_id = $1 AND r.tool = $2 AND r.digest = $3 AND r.created_at > $4
			AND r.org_id = $5 AND r.server = $6 AND r.kind = $7 AND r.role = $8 AND r.needed = $9
			AND (r.plan_id = $10 OR r.plan_id = '' OR $10 = '')
			AND (r.email = $11 OR r.email = '' OR $11 = '')
		ORDER BY r.created_at DESC, r.id DESC
		LIMIT $12`,
		c.KeyID, c.Tool, c.Digest, database.Micros(since), c.OrgID, c.Server, string(w.Kind), w.role(), w.needed(), c.PlanID, c.Email, newest)
	if err != nil {
		return nil, fmt.Errorf("look for an approval: %w", err)
	}
	return requests, nil
}

func selectRequest(ctx context.Context, r database.Reader, orgID, id string) (Request, error) {
	if !database.IsID(id) {
		return Request{}, noSuchRequest()
	}
	request, err := scanRequest(r.QueryRow(ctx, `SELECT `+columns+tables+`WHERE r.org_id = $1 AND r.id = $2`, orgID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Request{}, noSuchRequest()
	}
	if err != nil {
		return Request{}, fmt.Errorf("read request %s: %w", id, err)
	}
	return request, nil
}

func countPending(ctx context.Context, r database.Reader, keyID string, now time.Time) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM approval_request
		WHERE key_id = $1 AND status = 'pending' AND expires_at > $2`, keyID, database.Micros(now)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the requests that wait: %w", err)
	}
	return n, nil
}

func insertRequest(ctx context.Context, tx *database.Tx, r *Request) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO approval_request (
			id, org_id, key_id, owner_id, kind, server, tool, digest, arguments,
			user_id, email, agent_id, session_id, plan_id,
			policy_id, policy_version, rule, reason, message, role, needed,
			status, note, self_approved, created_at, expires_at
		) VALUES (
			$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
			$15, $16, $17, $18, $19, $20, $21, $22, '', 0, $23, $24
		)`,
		r.ID, r.OrgID, r.KeyID, r.OwnerID, string(r.Kind), r.Server, r.Tool, r.Digest, r.Arguments,
		r.UserID, r.Email, r.AgentID, r.SessionID, r.PlanID,
		r.PolicyID, r.PolicyVersion, r.Rule, r.Reason, r.Message, r.Role, r.Needed,
		string(r.Status), database.Micros(r.CreatedAt), database.Micros(r.ExpiresAt))
	if err != nil {
		return fmt.Errorf("store request %s: %w", r.ID, err)
	}
	return nil
}

// updateStatus writes what was decided about a request that waits.
func updateStatus(ctx context.Context, tx *database.Tx, r *Request) error {
	if r.Status != Pending {
		now := tx.Now()
		r.DecidedAt = &now
	}
	self := 0
	if r.SelfApproved {
		self = 1
	}
	changed, err := tx.Exec(ctx, `
		UPDATE approval_request
		SET status = $3, note = $4, self_approved = $5, decided_at = $6
		WHERE org_id = $1 AND id = $2 AND status = 'pending'`,
		r.OrgID, r.ID, string(r.Status), r.Note, self, database.OptionalMicros(r.DecidedAt))
	if err != nil {
		return fmt.Errorf("answer request %s: %w", r.ID, err)
	}
	if changed != 1 {
		return fault.New(fault.Conflict, "the request was answered by somebody else")
	}
	return nil
}

// addVote counts a person's yes, and gives how many there are.
func addVote(ctx context.Context, tx *database.Tx, requestID, userID string) (votes int, err error) {
	added, err := tx.Exec(ctx, `
		INSERT INTO approval_vote (request_id, user_id, created_at)
		VALUES ($1, $2, $3)
		ON CONFLICT (request_id, user_id) DO NOTHING`, requestID, userID, database.Micros(tx.Now()))
	if err != nil {
		return 0, fmt.Errorf("approve request %s: %w", requestID, err)
	}
	if added == 0 {
		return 0, fault.New(fault.Conflict, "you have approved this already: somebody else must, too")
	}
	err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM approval_vote WHERE request_id = $1`, requestID).Scan(&votes)
	if err != nil {
		return 0, fmt.Errorf("count who approves request %s: %w", requestID, err)
	}
	return votes, nil
}

func insertGrant(ctx context.Context, tx *database.Tx, r *Request) error {
	r.grant = grant{id: database.NewID(), expiresAt: tx.Now().Add(GrantLife)}
	_, err := tx.Exec(ctx, `
		INSERT INTO approval_grant (id, request_id, org_id, created_at, expires_at, decision_id)
		VALUES ($1, $2, $3, $4, $5, '')`,
		r.grant.id, r.ID, r.OrgID, database.Micros(tx.Now()), database.Micros(r.grant.expiresAt))
	if err != nil {
		return fmt.Errorf("grant request %s: %w", r.ID, err)
	}
	return nil
}

func expirePending(ctx context.Context, tx *database.Tx, most int) (int64, error) {
	return tx.Exec(ctx, `
		UPDATE approval_request
		SET status = 'expired'
		WHERE id IN (
			SELECT id
			FROM approval_request
			WHERE status = 'pending' AND expires_at <= $1
			ORDER BY id
			LIMIT $2
		) AND status = 'pending'`, database.Micros(tx.Now()), most)
}
