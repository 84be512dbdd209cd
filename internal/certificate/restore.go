package certificate

import (
	"context"

	"writ/internal/database"
)

// EndAll ends every certificate of a database that a backup has brought back, because it may have been revoked since
// the backup, and counts those that were valid. The authorities end with them: whoever checks must not go on to trust
// what they signed. The next certificate makes new ones.
func EndAll(ctx context.Context, tx *database.Tx) (ended int64, err error) {
	now := database.Micros(tx.Now())
	err = tx.QueryRow(ctx, `
		SELECT COUNT(*) FROM certificate c
		JOIN certificate_authority a ON a.id = c.authority_id
		WHERE c.revoked_at IS NULL AND c.expires_at > $1 AND (a.trusted_until IS NULL OR a.trusted_until > $1)`,
		now).Scan(&ended)
	if err != nil {
		return 0, database.Wrap(err, "count certificates")
	}
	_, err = tx.Exec(ctx, `
		UPDATE certificate_authority
		SET retired_at = COALESCE(retired_at, $1), trusted_until = $1
		WHERE trusted_until IS NULL OR trusted_until > $1`, now)
	return ended, database.Wrap(err, "end certificate authorities")
}
