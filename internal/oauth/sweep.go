package oauth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

const (
	sweepSlice = 200 // rows that one change removes
	// How long clients are kept that nobody has consented to, and the others after the last consent.
	unusedLife = 24 * time.Hour
	clientLife = 2 * ConsentLife
)

// Sweep removes old codes, tokens and clients, and ends the consents that no client can use any more: nobody should
// have to wonder what a key is for that nothing refers to.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.db.Now()
	for _, old := range []struct {
		table, key, over string
		before           time.Time
	}{
		{"oauth_code", "hash", "expires_at < $1", now.Add(-reuseMemory)},
		{"oauth_token", "hash", "expires_at < $1", now},
		{"oauth_token", "hash", "used_at < $1", now.Add(-reuseMemory)},
		{"oauth_client", "id", "used_at IS NULL AND created_at < $1", now.Add(-unusedLife)},
		{"oauth_client", "id", "used_at < $1", now.Add(-clientLife)},
	} {
		_, err := s.db.ExecInSlices(ctx, sweepSlice, fmt.Sprintf(
			`DELETE FROM %[1]s WHERE %[2]s IN (SELECT %[2]s FROM %[1]s WHERE %[3]s LIMIT $2)`,
			old.table, old.key, old.over), database.Micros(old.before), sweepSlice)
		if err != nil {
			return fmt.Errorf("sweep %s: %w", old.table, err)
		}
	}
	return s.endUnusable(ctx)
}

// endUnusable ends consents without a code or refresh token that works, and those whose owner has left or whose key
// was revoked.
func (s *Service) endUnusable(ctx context.Context) error {
	found, err := database.Collect(ctx, s.db, scanConsent, `
		SELECT `+columns+` FROM oauth_consent c
		JOIN api_key k ON k.id = c.key_id
		WHERE c.ended_at IS NULL AND (c.expires_at <= $1 OR k.revoked_at IS NOT NULL
			OR NOT EXISTS (SELECT 1 FROM organization_member m WHERE m.org_id = c.org_id AND m.user_id = c.user_id)
			OR NOT EXISTS (SELECT 1 FROM oauth_code o
				WHERE o.consent_id = c.id AND o.used_at IS NULL AND o.expires_at > $1)
			AND NOT EXISTS (SELECT 1 FROM oauth_token t
				WHERE t.consent_id = c.id AND t.kind = 'refresh' AND t.used_at IS NULL AND t.expires_at > $1))
		ORDER BY c.created_at LIMIT 1000`, database.Micros(s.db.Now()))
	if err != nil {
		return fmt.Errorf("find consents that nothing uses: %w", err)
	}
	for _, c := range found {
		err = errors.Join(err, s.write(ctx, audit.LogOf(c.OrgID), func(ctx context.Context, tx *database.Tx) error {
			return s.end(ctx, tx, principal.Operator(), ended, c, "no client can use it any more")
		}))
	}
	return err
}

// EndTokens removes every code and token, within a restore: some had ended since the backup was made. Clients ask
// the person again.
func EndTokens(ctx context.Context, tx *database.Tx) error {
	for _, table := range []string{"oauth_code", "oauth_token"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table); err != nil {
			return fmt.Errorf("end all tokens of OAuth clients: %w", err)
		}
	}
	return nil
}
