package federation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"writ/internal/database"
)

const selectProvider = `
	SELECT p.org_id, p.issuer, p.client_id, p.sealed_secret, p.slug, p.default_role, p.enforced, p.tested_at, p.created_at, p.updated_at
	FROM identity_provider p
	JOIN organization o ON o.id = p.org_id AND o.closed_at IS NULL
	`

// findProvider reads the provider that a condition names, with its domains.
func findProvider(ctx context.Context, r database.Reader, where string, args ...any) (Provider, error) {
	var p Provider
	var slug sql.NullString
	var enforced, created, updated int64
	var tested sql.NullInt64
	err := r.QueryRow(ctx, selectProvider+where, args...).Scan(&p.OrgID, &p.Issuer, &p.ClientID, &p.sealedSecret, &slug,
		&p.DefaultRole,
		&enforced, &tested, &created, &updated)
	if errors.Is(err, sql.ErrNoRows) {
		return Provider{}, notThere()
	}
	if err != nil {
		return Provider{}, fmt.Errorf("read an identity provider: %w", err)
	}
	p.Slug, p.Enforced, p.TestedAt = slug.String, enforced == 1, database.OptionalTime(tested)
	p.CreatedAt, p.UpdatedAt = database.Time(created), database.Time(updated)
	p.Domains, err = domainsOf(ctx, r, p.OrgID)
	return p, err
}

func providerOf(ctx context.Context, r database.Reader, orgID string) (Provider, error) {
	if !database.IsID(orgID) {
		return Provider{}, notThere()
	}
	return findProvider(ctx, r, `WHERE p.org_id = $1`, orgID)
}

func domainsOf(ctx context.Context, r database.Reader, orgID string) ([]Domain, error) {
	domains, err := database.Collect(ctx, r, func(s database.Scanner) (d Domain, err error) {
		var proven sql.NullInt64
		err = s.Scan(&d.Name, &proven)
		d.ProvenAt = database.OptionalTime(proven)
		return d, err
	}, `SELECT domain, proven_at FROM identity_provider_domain WHERE org_id = $1 ORDER BY domain`, orgID)
	if err != nil {
		return nil, fmt.Errorf("read the domains of an identity provider: %w", err)
	}
	return domains, nil
}

// provenOwners are the organizations that have proven a domain. One that was closed
// stands in nobody's way.
func provenOwners(ctx context.Context, r database.Reader, domain string) ([]string, error) {
	owners, err := database.Collect(ctx, r, func(s database.Scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `
		SELECT d.org_id
		FROM identity_provider_domain d
		JOIN organization o ON o.id = d.org_id AND o.closed_at IS NULL
		WHERE d.domain = $1 AND d.proven_at IS NOT NULL
		ORDER BY d.org_id
		LIMIT 2`, domain)
	if err != nil {
		return nil, fmt.Errorf("look for who has proven a domain: %w", err)
	}
	return owners, nil
}

// putProvider stores a provider in the place of the one before, with its domains.
func putProvider(ctx context.Context, tx *database.Tx, p Provider) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO identity_provider (org_id, issuer, client_id, sealed_secret, slug, default_role, enforced, tested_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (org_id) DO UPDATE
		SET issuer = excluded.issuer, client_id = excluded.client_id, sealed_secret = excluded.sealed_secret, slug = excluded.slug,
			default_role = excluded.default_role, enforced = excluded.enforced, tested_at = excluded.tested_at, updated_at = excluded.updated_at`,
		p.OrgID, p.Issuer, p.ClientID, p.sealedSecret, database.OptionalText(p.Slug), string(p.DefaultRole),
		number(p.Enforced),
		database.OptionalMicros(p.TestedAt), database.Micros(p.CreatedAt), database.Micros(p.UpdatedAt))
	if err != nil {
		return fmt.Errorf("store an identity provider: %w", err)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM identity_provider_domain WHERE org_id = $1`, p.OrgID); err != nil {
		return fmt.Errorf("replace the domains of an identity provider: %w", err)
	}
	for _, d := range p.Domains {
		_, err := tx.Exec(ctx, `INSERT INTO identity_provider_domain (org_id, domain, proven_at) VALUES ($1, $2, $3)`,
			p.OrgID, d.Name, database.OptionalMicros(d.ProvenAt))
		if err != nil {
			return fmt.Errorf("store a domain of an identity provider: %w", err)
		}
	}
	return nil
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// deleteProvider removes a provider. The identities stay: without it nobody comes
// with them, and the same issuer may be set up again.
func deleteProvider(ctx context.Context, tx *database.Tx, orgID string) error {
	for _, statement := range []string{
		`DELETE FROM identity_provider_domain WHERE org_id = $1`,
		`DELETE FROM identity_provider WHERE org_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, orgID); err != nil {
			return fmt.Errorf("delete an identity provider: %w", err)
		}
	}
	return nil
}

const identityColumns = `id, org_id, issuer, subject, user_id, email, linked, created_at`

func scanIdentity(s database.Scanner) (i Identity, err error) {
	var linked, created int64
	err = s.Scan(&i.ID, &i.OrgID, &i.Issuer, &i.Subject, &i.UserID, &i.Email, &linked, &created)
	i.Linked, i.CreatedAt = linked == 1, database.Time(created)
	return i, err
}

// findIdentity gives the zero Identity when nobody has come with it yet.
func findIdentity(ctx context.Context, r database.Reader, orgID, issuer, subject string) (Identity, error) {
	i, err := scanIdentity(r.QueryRow(ctx,
		`SELECT `+identityColumns+` FROM external_identity WHERE org_id = $1 AND issuer = $2 AND subject = $3`,
		orgID, issuer, subject))
	if errors.Is(err, sql.ErrNoRows) {
		return Identity{}, nil
	}
	if err != nil {
		return Identity{}, fmt.Errorf("look for an identity: %w", err)
	}
	return i, nil
}

func identitiesOf(ctx context.Context, r database.Reader, userID string) ([]Identity, error) {
	list, err := database.Collect(ctx, r, scanIdentity, `
		SELECT `+identityColumns+`
		FROM external_identity
		WHERE user_id = $1
		ORDER BY created_at, id
		LIMIT 100`, userID)
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	return list, nil
}

func insertIdentity(ctx context.Context, tx *database.Tx, i Identity) error {
	_, err := tx.Exec(ctx,
		`INSERT INTO external_identity (`+identityColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		i.ID, i.OrgID, i.Issuer, i.Subject, i.UserID, i.Email, number(i.Linked), database.Micros(i.CreatedAt))
	if err != nil {
		return fmt.Errorf("store an identity: %w", err)
	}
	return nil
}

// deleteIdentity removes an identity, and tells whether it was there.
func deleteIdentity(ctx context.Context, tx *database.Tx, userID, id string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM external_identity WHERE user_id = $1 AND id = $2`, userID, id)
	if err != nil {
		return false, fmt.Errorf("delete an identity: %w", err)
	}
	return n == 1, nil
}

func insertCode(ctx context.Context, tx *database.Tx, hash []byte, userID, orgID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO sign_in_code (hash, user_id, org_id, expires_at) VALUES ($1, $2, $3, $4)`,
		hash, userID, orgID, database.Micros(tx.Now().Add(codeLife)))
	if err != nil {
		return fmt.Errorf("store a sign-in code: %w", err)
	}
	return nil
}

// findCode gives who may have tokens for a code; nobody for one that is unknown,
// used or late.
func findCode(ctx context.Context, r database.Reader, hash []byte, now int64) (userID, orgID string, err error) {
	err = r.QueryRow(ctx, `SELECT user_id, org_id FROM sign_in_code WHERE hash = $1 AND expires_at > $2`, hash,
		now).Scan(&userID, &orgID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("look for a sign-in code: %w", err)
	}
	return userID, orgID, nil
}

// takeCode uses a code up, and tells whether it was there.
func takeCode(ctx context.Context, tx *database.Tx, hash []byte) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM sign_in_code WHERE hash = $1`, hash)
	if err != nil {
		return false, fmt.Errorf("use a sign-in code: %w", err)
	}
	return n == 1, nil
}
