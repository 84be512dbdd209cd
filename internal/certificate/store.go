package certificate

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"writ/internal/certificate/authority"
	"writ/internal/database"
	"writ/internal/page"
)

const selectAuthority = `
	SELECT id, org_id, algorithm, certificate, sealed, created_at, expires_at, retired_at, trusted_until
	FROM certificate_authority
	`

func scanAuthority(s database.Scanner) (a Authority, err error) {
	err = s.Scan(&a.ID, &a.OrgID, &a.Algorithm, &a.DER, &a.sealed, database.ToTime(&a.CreatedAt),
		database.ToTime(&a.ExpiresAt), database.ToOptionalTime(&a.RetiredAt), database.ToOptionalTime(&a.TrustedUntil))
	return a, err
}

// currentOf is the authority of an organization that signs; nil: there is none yet.
func currentOf(ctx context.Context, r database.Reader, orgID string) (*Authority, error) {
	a, err := scanAuthority(r.QueryRow(ctx, selectAuthority+`WHERE org_id = $1 AND retired_at IS NULL`, orgID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &a, database.Wrap(err, "read a certificate authority")
}

func findAuthority(ctx context.Context, r database.Reader, id string) (Authority, error) {
	if !database.IsID(id) {
		return Authority{}, noSuchAuthority()
	}
	a, err := scanAuthority(r.QueryRow(ctx, selectAuthority+`WHERE id = $1`, id))
	return a, database.OrMissing(err, noSuchAuthority(), "read a certificate authority")
}

// trustedAuthorities are those of an organization that count at a time, newest first.
func trustedAuthorities(ctx context.Context, r database.Reader, orgID string, now time.Time) ([]Authority, error) {
	found, err := database.Collect(ctx, r, scanAuthority, selectAuthority+`
		WHERE org_id = $1 AND expires_at > $2 AND (trusted_until IS NULL OR trusted_until > $2)
		ORDER BY created_at DESC, id DESC`, orgID, database.Micros(now))
	return found, database.Wrap(err, "list certificate authorities")
}

func insertAuthority(ctx context.Context, tx *database.Tx, a *Authority) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO certificate_authority (id, org_id, algorithm, certificate, sealed, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		a.ID, a.OrgID, string(a.Algorithm), a.DER, a.sealed, database.Micros(a.CreatedAt), database.Micros(a.ExpiresAt))
	return database.Wrap(err, "store a certificate authority")
}

func retireAuthority(ctx context.Context, tx *database.Tx, id string, until time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE certificate_authority SET retired_at = $2, trusted_until = $3 WHERE id = $1`,
		id, database.Micros(tx.Now()), database.Micros(until))
	return database.Wrap(err, "retire a certificate authority")
}

// endAuthorities ends the trust in all authorities that were replaced.
func endAuthorities(ctx context.Context, tx *database.Tx, orgID string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE certificate_authority SET trusted_until = $2 WHERE org_id = $1 AND trusted_until > $2`,
		orgID, database.Micros(at))
	return database.Wrap(err, "end the trust in certificate authorities")
}

const selectCertificate = `
	SELECT c.id, c.org_id, c.authority_id, c.serial, c.kind, c.subject, c.spiffe_id, c.certificate, c.fingerprint,
		c.key_hash, c.issued_by, c.key_id, c.replaces, c.created_at, c.begins_at, c.expires_at, c.revoked_at,
		c.revoked_by, c.cause, c.reason, c.definitions, c.statement, c.statement_ended_at,
		CASE WHEN a.trusted_until IS NOT NULL AND a.trusted_until < a.expires_at THEN a.trusted_until
			ELSE a.expires_at END
	FROM certificate c
	JOIN certificate_authority a ON a.id = c.authority_id
	`

func scanCertificate(s database.Scanner) (c Certificate, err error) {
	err = s.Scan(&c.ID, &c.OrgID, &c.AuthorityID, &c.Serial, &c.Kind, &c.Subject, &c.SPIFFEID, &c.DER, &c.Fingerprint,
		&c.keyHash, &c.IssuedBy, &c.KeyID, &c.Replaces, database.ToTime(&c.CreatedAt), database.ToTime(&c.BeginsAt),
		database.ToTime(&c.ExpiresAt), database.ToOptionalTime(&c.RevokedAt), &c.RevokedBy, &c.Cause, &c.Reason,
		&c.Definitions, &c.Statement, database.ToOptionalTime(&c.StatementEndedAt),
		database.ToTime(&c.authorityUntil))
	return c, err
}

// find reads a certificate of an organization. Others do not exist.
func find(ctx context.Context, r database.Reader, orgID, id string) (Certificate, error) {
	if !database.IsID(id) {
		return Certificate{}, noSuchCertificate()
	}
	c, err := scanCertificate(r.QueryRow(ctx, selectCertificate+`WHERE c.org_id = $1 AND c.id = $2`, orgID, id))
	return c, database.OrMissing(err, noSuchCertificate(), "read a certificate")
}

// findPrint reads a certificate by its fingerprint, whichever organization's it is.
func findPrint(ctx context.Context, r database.Reader, fingerprint string) (Certificate, error) {
	c, err := scanCertificate(r.QueryRow(ctx, selectCertificate+`WHERE c.fingerprint = $1`, fingerprint))
	return c, database.OrMissing(err, noSuchCertificate(), "read a certificate")
}

func findSerial(ctx context.Context, r database.Reader, orgID, serial string) (Certificate, error) {
	c, err := scanCertificate(r.QueryRow(ctx, selectCertificate+`WHERE c.org_id = $1 AND c.serial = $2`, orgID, serial))
	return c, database.OrMissing(err, noSuchCertificate(), "read a certificate")
}

func insertCertificate(ctx context.Context, tx *database.Tx, c *Certificate) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO certificate (id, org_id, authority_id, serial, kind, subject, spiffe_id, certificate, fingerprint,
			key_hash, issued_by, key_id, replaces, created_at, begins_at, expires_at, revoked_by, cause, reason,
			definitions, statement)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, '', '', '', $17, $18)`,
		c.ID, c.OrgID, c.AuthorityID, c.Serial, string(c.Kind), c.Subject, c.SPIFFEID, c.DER, c.Fingerprint, c.keyHash,
		c.IssuedBy, c.KeyID, c.Replaces, database.Micros(c.CreatedAt), database.Micros(c.BeginsAt),
		database.Micros(c.ExpiresAt), c.Definitions, c.Statement)
	return database.Wrap(err, "store a certificate")
}

// markRevoked revokes a certificate, or says another cause of one that was revoked.
func markRevoked(ctx context.Context, tx *database.Tx, c *Certificate) error {
	_, err := tx.Exec(ctx, `
		UPDATE certificate SET revoked_at = $2, revoked_by = $3, cause = $4, reason = $5
		WHERE id = $1`,
		c.ID, database.OptionalMicros(c.RevokedAt), c.RevokedBy, string(c.Cause), c.Reason)
	return database.Wrap(err, "revoke a certificate")
}

// liveOf are the certificates of an agent or server that were not revoked and have not expired, newest first.
func liveOf(
	ctx context.Context, r database.Reader, orgID string, kind authority.Kind, subject string, now time.Time,
) ([]Certificate, error) {
	found, err := database.Collect(ctx, r, scanCertificate, selectCertificate+`
		WHERE c.org_id = $1 AND c.kind = $2 AND c.subject = $3 AND c.revoked_at IS NULL AND c.expires_at > $4
		ORDER BY c.created_at DESC, c.id DESC`, orgID, string(kind), subject, database.Micros(now))
	return found, database.Wrap(err, "list the certificates of an agent or MCP server")
}

// countRecent counts the certificates of an agent or server that have not expired, also those that were revoked.
func countRecent(ctx context.Context, r database.Reader, c *Certificate, now time.Time) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*) FROM certificate WHERE org_id = $1 AND kind = $2 AND subject = $3 AND expires_at > $4`,
		c.OrgID, string(c.Kind), c.Subject, database.Micros(now)).Scan(&n)
	return n, database.Wrap(err, "count the certificates of an agent or MCP server")
}

// keyUses are certificates of an organization with the same public key that keep others from having it: those of
// another subject, and those that were revoked because somebody else has the private key.
func keyUses(ctx context.Context, r database.Reader, c *Certificate) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*) FROM certificate
		WHERE org_id = $1 AND key_hash = $2 AND (kind <> $3 OR subject <> $4 OR cause = 'key_compromise')`,
		c.OrgID, c.keyHash, string(c.Kind), c.Subject).Scan(&n)
	return n, database.Wrap(err, "look for other certificates of a key")
}

// revokedBy are the entries of an authority's revocation list: certificates that have expired are left out.
func revokedBy(ctx context.Context, r database.Reader, authorityID string, now time.Time) ([]authority.Revoked, error) {
	// Verifiers whose clocks are behind still take what has expired here.
	after := database.Micros(now.Add(-authority.Skew))
	found, err := database.Collect(ctx, r, func(s database.Scanner) (v authority.Revoked, err error) {
		err = s.Scan(&v.Serial, database.ToTime(&v.At), &v.Cause)
		return v, err
	}, `
		SELECT serial, revoked_at, cause FROM certificate
		WHERE authority_id = $1 AND revoked_at IS NOT NULL AND expires_at > $2
		ORDER BY revoked_at, serial`, authorityID, after)
	return found, database.Wrap(err, "list revoked certificates")
}

// Filter narrows a list of certificates. Empty members narrow nothing.
type Filter struct {
	Kind    authority.Kind
	Subject string
	Live    bool // neither revoked nor expired
}

func list(
	ctx context.Context, r database.Reader, orgID string, f Filter, now time.Time, after page.Cursor, limit int,
) ([]Certificate, error) {
	var where database.Where
	where.And(`c.org_id = ?`, orgID)
	if f.Kind != "" {
		where.And(`c.kind = ?`, string(f.Kind))
	}
	if f.Subject != "" {
		where.And(`c.subject = ?`, f.Subject)
	}
	if f.Live {
		where.And(`c.revoked_at IS NULL AND c.expires_at > ?`, database.Micros(now))
	}
	if !after.IsZero() {
		where.And(`(c.created_at, c.id) < (?, ?)`, after.Micros, after.ID)
	}
	found, err := database.Collect(ctx, r, scanCertificate, selectCertificate+where.String()+
		`ORDER BY c.created_at DESC, c.id DESC LIMIT `+where.Bind(limit), where.Args...)
	return found, database.Wrap(err, "list certificates")
}

// Prune forgets certificates that expired long ago, but for those whose keys others have: nobody gets a certificate for
// such a key again. The audit log keeps what was said of them.
func (s *Service) Prune(ctx context.Context) error {
	before := database.Micros(s.db.Now().Add(-keptFor))
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			DELETE FROM certificate
			WHERE id IN (
				SELECT id FROM certificate
				WHERE expires_at < $1 AND cause <> 'key_compromise'
				ORDER BY expires_at LIMIT 10000)`, before)
		return database.Wrap(err, "forget old certificates")
	}})
}
