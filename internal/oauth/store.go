package oauth

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/secret"
)

func insertClient(ctx context.Context, tx *database.Tx, c Client) error {
	uris, err := json.Marshal(c.RedirectURIs)
	if err != nil {
		return fmt.Errorf("store a client: %w", err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO oauth_client (id, name, redirect_uris, created_at) VALUES ($1, $2, $3, $4)`,
		c.ID, c.Name, string(uris), database.Micros(c.CreatedAt))
	return database.Wrap(err, "store a client")
}

func findClient(ctx context.Context, r database.Reader, id string) (c Client, err error) {
	var uris string
	err = r.QueryRow(ctx, `SELECT id, name, redirect_uris, created_at FROM oauth_client WHERE id = $1`, id).
		Scan(&c.ID, &c.Name, &uris, database.ToTime(&c.CreatedAt))
	if err != nil {
		return Client{}, database.OrMissing(err, unknownClient(), "read a client")
	}
	return c, database.Wrap(json.Unmarshal([]byte(uris), &c.RedirectURIs), "read a client")
}

// forgetUnused forgets the oldest clients that nobody has consented to, beyond some.
func forgetUnused(ctx context.Context, tx *database.Tx, most int) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM oauth_client WHERE id IN (
			SELECT id FROM oauth_client WHERE used_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 100 OFFSET $1)`, most)
	return database.Wrap(err, "forget unused clients")
}

// touchClient notes that somebody consented. It reports whether the client still exists.
func touchClient(ctx context.Context, tx *database.Tx, id string) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE oauth_client SET used_at = $2 WHERE id = $1`, id, database.Micros(tx.Now()))
	return n == 1, database.Wrap(err, "note the use of a client")
}

// columns are those that scan reads, of oauth_consent as c.
const columns = `
	c.id, c.org_id, c.user_id, c.agent_id, c.key_id, c.client_id, c.client_name, c.redirect_uri, c.resource,
	c.created_at, c.expires_at, c.ended_at, c.ended_for`

func scan(s database.Scanner, c *Consent, more ...any) error {
	return s.Scan(append([]any{
		&c.ID, &c.OrgID, &c.UserID, &c.AgentID, &c.KeyID, &c.ClientID, &c.ClientName, &c.RedirectURI, &c.Resource,
		database.ToTime(&c.CreatedAt), database.ToTime(&c.ExpiresAt), database.ToOptionalTime(&c.EndedAt),
		&c.EndedFor,
	}, more...)...)
}

func scanConsent(s database.Scanner) (c Consent, err error) { return c, scan(s, &c) }

func insertConsent(ctx context.Context, tx *database.Tx, c Consent) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO oauth_consent (id, org_id, user_id, agent_id, key_id, client_id, client_name, redirect_uri, resource,
			created_at, expires_at, ended_for)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '')`,
		c.ID, c.OrgID, c.UserID, c.AgentID, c.KeyID, c.ClientID, c.ClientName, c.RedirectURI, c.Resource,
		database.Micros(c.CreatedAt), database.Micros(c.ExpiresAt))
	return database.Wrap(err, "store a consent")
}

// findConsent reads a consent of an organization. Others do not exist.
func findConsent(ctx context.Context, r database.Reader, orgID, id string) (Consent, error) {
	if !database.IsID(id) {
		return Consent{}, noSuchConsent()
	}
	c, err := scanConsent(r.QueryRow(ctx, `SELECT `+columns+` FROM oauth_consent c WHERE c.org_id = $1 AND c.id = $2`,
		orgID, id))
	return c, database.OrMissing(err, noSuchConsent(), "read a consent")
}

// selectConsents lists consents of an organization after a position; owner: of one person. A consent whose key was
// revoked has ended.
func selectConsents(
	ctx context.Context, r database.Reader, orgID, owner string, after page.Cursor, limit int,
) ([]Consent, error) {
	var where database.Where
	where.And(`c.org_id = ?`, orgID)
	if owner != "" {
		where.And(`c.user_id = ?`, owner)
	}
	if !after.IsZero() {
		where.And(`(c.created_at, c.id) < (?, ?)`, after.Micros, after.ID)
	}
	found, err := database.Collect(ctx, r, func(s database.Scanner) (c Consent, err error) {
		var revokedAt *time.Time
		if err = scan(s, &c, database.ToOptionalTime(&revokedAt)); err == nil && c.EndedAt == nil &&
			revokedAt != nil {
			c.EndedAt, c.EndedFor = revokedAt, "its key was revoked"
		}
		return c, err
	}, `SELECT `+columns+`, k.revoked_at FROM oauth_consent c JOIN api_key k ON k.id = c.key_id`+where.String()+
		`ORDER BY c.created_at DESC, c.id DESC LIMIT `+where.Bind(limit), where.Args...)
	return found, database.Wrap(err, "list consents")
}

func countLive(ctx context.Context, r database.Reader, orgID, userID string) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*) FROM oauth_consent c
		JOIN api_key k ON k.id = c.key_id
		WHERE c.org_id = $1 AND c.user_id = $2 AND c.ended_at IS NULL AND k.revoked_at IS NULL`, orgID, userID).Scan(&n)
	return n, database.Wrap(err, "count consents")
}

// markEnded ends a consent. It reports whether it had not ended yet.
func markEnded(ctx context.Context, tx *database.Tx, id, reason string) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE oauth_consent SET ended_at = $2, ended_for = $3
		WHERE id = $1 AND ended_at IS NULL`, id, database.Micros(tx.Now()), reason)
	return n == 1, database.Wrap(err, "end a consent")
}

// authorizationCode is a code with the consent that it is for.
type authorizationCode struct {
	Consent
	hash      []byte
	challenge string
	expiresAt time.Time
	usedAt    *time.Time
}

func insertCode(ctx context.Context, tx *database.Tx, c authorizationCode) error {
	_, err := tx.Exec(ctx, `INSERT INTO oauth_code (hash, consent_id, challenge, expires_at) VALUES ($1, $2, $3, $4)`,
		c.hash, c.ID, c.challenge, database.Micros(c.expiresAt))
	return database.Wrap(err, "store a code")
}

func findCode(ctx context.Context, r database.Reader, hash []byte) (c authorizationCode, err error) {
	err = scan(r.QueryRow(ctx, `
		SELECT `+columns+`, o.hash, o.challenge, o.expires_at, o.used_at
		FROM oauth_code o JOIN oauth_consent c ON c.id = o.consent_id
		WHERE o.hash = $1`, hash), &c.Consent, &c.hash, &c.challenge, database.ToTime(&c.expiresAt),
		database.ToOptionalTime(&c.usedAt))
	if err == nil && !secret.SameHash(c.hash, hash) {
		return authorizationCode{}, refusedGrant()
	}
	return c, database.OrMissing(err, refusedGrant(), "look up a code")
}

// useCode uses a code up. It reports whether it was unused until now.
func useCode(ctx context.Context, tx *database.Tx, hash []byte) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE oauth_code SET used_at = $2 WHERE hash = $1 AND used_at IS NULL`,
		hash, database.Micros(tx.Now()))
	return n == 1, database.Wrap(err, "use a code")
}

// token is a token with the consent that it is for.
type token struct {
	Consent
	hash      []byte
	kind      kind
	expiresAt time.Time
	usedAt    *time.Time
	version   audit.Version // of the organization's log
}

func insertToken(
	ctx context.Context, tx *database.Tx, consentID string, k kind, hash []byte, expiresAt time.Time,
) error {
	_, err := tx.Exec(ctx, `INSERT INTO oauth_token (hash, consent_id, kind, expires_at) VALUES ($1, $2, $3, $4)`,
		hash, consentID, string(k), database.Micros(expiresAt))
	return database.Wrap(err, "store a token")
}

// findToken reads a token of a kind, or is the refusal of an access token that does not exist.
func findToken(ctx context.Context, r database.Reader, hash []byte, k kind) (t token, err error) {
	t.kind = k
	err = scan(r.QueryRow(ctx, `
		SELECT `+columns+`, t.hash, t.expires_at, t.used_at, h.generation, h.epoch
		FROM oauth_token t
		JOIN oauth_consent c ON c.id = t.consent_id
		JOIN audit_head h ON h.log = c.org_id
		WHERE t.hash = $1 AND t.kind = $2`, hash, string(k)), &t.Consent, &t.hash, database.ToTime(&t.expiresAt),
		database.ToOptionalTime(&t.usedAt), &t.version.Generation, &t.version.Epoch)
	if err == nil && !secret.SameHash(t.hash, hash) {
		return token{}, refusedToken()
	}
	return t, database.OrMissing(err, refusedToken(), "look up a token")
}

// useRefresh uses a refresh token up. It reports whether it was unused until now.
func useRefresh(ctx context.Context, tx *database.Tx, hash []byte) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE oauth_token SET used_at = $2 WHERE hash = $1 AND used_at IS NULL`,
		hash, database.Micros(tx.Now()))
	return n == 1, database.Wrap(err, "use a refresh token")
}

func deleteToken(ctx context.Context, tx *database.Tx, hash []byte) error {
	_, err := tx.Exec(ctx, `DELETE FROM oauth_token WHERE hash = $1`, hash)
	return database.Wrap(err, "remove a token")
}
