package approval

import (
	"context"
	"fmt"
	"strings"

	"writ/internal/audit"
	"writ/internal/database"
)

// Opened notes the log entry that describes a request's call, within the transaction of
// both: what is erased there is erased here.
func Opened(ctx context.Context, tx *database.Tx, r *Request, entry *audit.Appended) error {
	return noteEntry(ctx, tx, r, "opened_at_entry", entry)
}

func noteEntry(ctx context.Context, tx *database.Tx, r *Request, column string, entry *audit.Appended) error {
	_, err := tx.Exec(ctx, `UPDATE approval_request SET `+column+` = $3 WHERE org_id = $1 AND id = $2`, r.OrgID, r.ID,
		entry.Index)
	return database.Wrap(err, "note the entry of request %s", r.ID)
}

// EraseArguments erases what was asked for and what approvers changed, together with the
// payloads of the entries that describe it. The answer stays, and so do the digests by
// which answers are found and the level of the risk; its reasons hold amounts. A standing
// approval ends: without its words nobody knows what it permits. A request that waits
// expires: nobody sees any more what they would approve, and the next call asks again.
func EraseArguments(ctx context.Context, tx *database.Tx, orgID string, positions []int64) error {
	for _, position := range positions {
		if err := forgetWords(ctx, tx, orgID, position); err != nil {
			return err
		}
		for _, statement := range [...]string{
			`UPDATE approval_request SET arguments = '', asked_for = '', amount = NULL, risk = '{"level":"' || risk_level || '","score":0,"reasons":[]}'
				WHERE org_id = $1 AND opened_at_entry = $2`,
			`UPDATE approval_request SET expires_at = $3
				WHERE org_id = $1 AND opened_at_entry = $2 AND status = 'pending' AND expires_at > $3`,
			`UPDATE temporary_allow SET pattern = '', words = '', expires_at = CASE WHEN expires_at > $3 THEN $3 ELSE expires_at END
				WHERE org_id = $1 AND request_id IN (SELECT id FROM approval_request WHERE org_id = $1 AND decided_at_entry = $2 AND scope <> '')`,
			`UPDATE approval_request SET edited = '', note = '' WHERE org_id = $1 AND decided_at_entry = $2`,
			`UPDATE approval_request SET scope = '{"kind":"pattern"}' WHERE org_id = $1 AND decided_at_entry = $2 AND scope LIKE '{"kind":"pattern"%'`,
		} {
			args := []any{orgID, position}
			if strings.Contains(statement, "$3") {
				args = append(args, database.Micros(tx.Now()))
			}
			if _, err := tx.Exec(ctx, statement, args...); err != nil {
				return fmt.Errorf("erase the approval of entry %d: %w", position, err)
			}
		}
	}
	return nil
}
