package execution

import (
	"context"
	"database/sql"
	"errors"

	"writ/internal/database"
)

// followSequence takes a report's number into account. A client that numbers its reports
// counts from 0 or 1, by ones, within a session of an agent. Reports may overtake each
// other; a late number closes its gap.
func followSequence(ctx context.Context, tx *database.Tx, orgID string, e stored) error {
	if !e.seq.Valid || e.seq.Int64 < 0 {
		return nil
	}
	stream := []any{orgID, e.keyID, e.agentID, e.sessionID}
	newest := int64(0) // a sequence may begin with 0 or 1
	err := tx.QueryRow(ctx, `
		SELECT newest
		FROM report_sequence
		WHERE org_id = $1 AND key_id = $2 AND agent_id = $3 AND session_id = $4`, stream...).Scan(&newest)
	known := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if known && e.seq.Int64 <= newest {
		return fillGap(ctx, tx, stream, e)
	}
	if e.seq.Int64 > newest+1 {
		if err := insertFinding(ctx, tx, gapBefore(e, orgID, newest)); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO report_sequence (org_id, key_id, agent_id, session_id, newest)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (org_id, key_id, agent_id, session_id) DO UPDATE SET newest = excluded.newest`,
		append(stream, e.seq.Int64)...)
	return err
}

// gapBefore is the finding that reports are missing between the newest and this one.
func gapBefore(e stored, orgID string, newest int64) Finding {
	return Finding{
		OrgID:       orgID,
		Kind:        SequenceGap,
		HappenedAt:  database.Time(e.executedAt),
		Position:    e.position,
		KeyID:       e.keyID,
		AgentID:     e.agentID,
		SessionID:   e.sessionID,
		ExecutionID: e.id,
		FirstSeq:    newest + 1,
		LastSeq:     e.seq.Int64 - 1,
		Missing:     e.seq.Int64 - newest - 1,
	}
}

// fillGap counts a late number when it first comes: sending one number twice must not
// count for another.
func fillGap(ctx context.Context, tx *database.Tx, stream []any, e stored) error {
	var before int64
	err := tx.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM execution
		WHERE org_id = $1 AND key_id = $2 AND agent_id = $3 AND session_id = $4 AND seq = $5 AND position < $6`,
		append(stream, e.seq.Int64, e.position)...).Scan(&before)
	if err != nil || before > 0 {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE finding
		SET missing = missing - 1, resolved_at = CASE WHEN missing = 1 THEN $6 ELSE resolved_at END
		WHERE org_id = $1 AND key_id = $2 AND agent_id = $3 AND session_id = $4
			AND kind = 'sequence_gap' AND missing > 0 AND first_seq <= $5 AND last_seq >= $5`,
		append(stream, e.seq.Int64, database.Micros(tx.Now()))...)
	return err
}
