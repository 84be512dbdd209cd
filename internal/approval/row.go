package approval

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/wordindex"
)

// columns are those that scanRequest reads.
const columns = `
	r.id, r.org_id, r.key_id, r.owner_id, r.kind, r.server, r.tool, r.digest, r.arguments,
	r.user_id, r.email, r.agent_id, r.session_id, r.plan_id, r.step,
	r.policy_id, r.policy_version, r.rule, r.reason, r.message, r.role, r.needed,
	r.requested_via, r.amount, r.domain, r.asked_for, r.risk, r.repeats, r.last_asked_at,
	r.status, r.note, r.self_approved, r.scope, r.edited, r.edited_digest, r.decided_by, r.decided_role, r.covered_by,
	r.arguments_from, r.grounding, r.doubted, r.widens, COALESCE(r.opened_at_entry, -1),
	r.created_at, r.expires_at, r.decided_at, r.executed_at, r.grant_micros,
	COALESCE(g.id, ''), COALESCE(g.expires_at, 0), g.used_at`

const tables = ` FROM approval_request r LEFT JOIN approval_grant g ON g.request_id = r.id `

func scanRequest(s database.Scanner) (r Request, err error) {
	var created, expires, granted, self, life int64
	var asked, decided, executed, used sql.NullInt64
	var amount sql.NullFloat64
	var risk, doubts string
	err = s.Scan(
		&r.ID, &r.OrgID, &r.KeyID, &r.OwnerID, &r.Kind, &r.Server, &r.Tool, &r.Digest, &r.Arguments,
		&r.UserID, &r.Email, &r.AgentID, &r.SessionID, &r.PlanID, &r.Step,
		&r.PolicyID, &r.PolicyVersion, &r.Rule, &r.Reason, &r.Message, &r.Role, &r.Needed,
		&r.Via, &amount, &r.Domain, &r.AskedFor, &risk, &r.Repeats, &asked,
		&r.Status, &r.Note, &self, &r.scopeText, &r.Edited, &r.editedDigest, &r.DecidedBy, &r.DecidedRole, &r.CoveredBy,
		&r.ArgumentsFrom, &doubts, database.ToBool(&r.Doubted), database.ToBool(&r.Widens), &r.OpenedAt,
		&created, &expires, &decided, &executed, &life,
		&r.grant.id, &granted, &used)
	if err != nil {
		return Request{}, err
	}
	if amount.Valid {
		r.Amount = &amount.Float64
	}
	r.CreatedAt, r.ExpiresAt, r.DecidedAt = database.Time(created), database.Time(expires),
		database.OptionalTime(decided)
	r.LastAskedAt, r.ExecutedAt = database.OptionalTime(asked), database.OptionalTime(executed)
	r.SelfApproved, r.grantLife = self != 0, time.Duration(life)*time.Microsecond
	r.grant.expiresAt, r.grant.used = database.Time(granted), used.Valid
	if r.Scope, err = parseScope(r.scopeText); err != nil {
		return Request{}, fmt.Errorf("scope of request %s: %w", r.ID, err)
	}
	if doubts != "" {
		if err := json.Unmarshal([]byte(doubts), &r.Grounding); err != nil {
			return Request{}, fmt.Errorf("grounding of request %s: %w", r.ID, err)
		}
	}
	if r.Risk, err = parseRisk(risk); err != nil {
		return Request{}, fmt.Errorf("risk of request %s: %w", r.ID, err)
	}
	return r, nil
}

func insertRequest(ctx context.Context, tx *database.Tx, r *Request) error {
	risk, err := riskText(r.Risk)
	if err != nil {
		return fmt.Errorf("store request %s: its risk: %w", r.ID, err)
	}
	doubts := []byte{}
	if len(r.Grounding) > 0 {
		if doubts, err = json.Marshal(r.Grounding); err != nil {
			return fmt.Errorf("store request %s: its grounding: %w", r.ID, err)
		}
	}
	var amount sql.NullFloat64
	if r.Amount != nil {
		amount = sql.NullFloat64{Float64: *r.Amount, Valid: true}
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO approval_request (
			id, org_id, key_id, owner_id, kind, server, tool, digest, arguments,
			user_id, email, agent_id, session_id, plan_id, step,
			policy_id, policy_version, rule, reason, message, role, needed,
			requested_via, amount, domain, asked_for, risk_level, risk,
			status, note, self_approved, created_at, expires_at, grant_micros, arguments_from, grounding, doubted, widens
		) VALUES (
			$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
			$16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28,
			$29, '', 0, $30, $31, $32, $33, $34, $35, $36
		)`,
		r.ID, r.OrgID, r.KeyID, r.OwnerID, string(r.Kind), r.Server, r.Tool, r.Digest, r.Arguments,
		r.UserID, r.Email, r.AgentID, r.SessionID, r.PlanID, r.Step,
		r.PolicyID, r.PolicyVersion, r.Rule, r.Reason, r.Message, r.Role, r.Needed,
		string(r.Via), amount, r.Domain, r.AskedFor, string(r.Risk.Level), risk,
		string(r.Status), database.Micros(r.CreatedAt), database.Micros(r.ExpiresAt), r.GrantLife().Microseconds(),
		r.ArgumentsFrom, string(doubts), database.Bit(r.Doubted), database.Bit(r.Widens))
	if err != nil {
		return fmt.Errorf("store request %s: %w", r.ID, err)
	}
	return wordindex.Enqueue(ctx, tx, r.OrgID, requestWords, r.ID, r.CreatedAt)
}

func riskText(r Risk) (string, error) {
	text, err := json.Marshal(r)
	return string(text), err
}

func parseRisk(text string) (r Risk, err error) {
	err = json.Unmarshal([]byte(text), &r)
	return r, err
}
