package federation

import (
	"context"

	"writ/internal/database"
)

const selectProvider = `
	SELECT p.org_id, p.issuer, p.client_id, p.sealed_secret, p.slug, p.default_role, p.enforced, p.tested_at,
		p.created_at, p.updated_at
	FROM identity_provider p
	JOIN organization o ON o.id = p.org_id AND o.closed_at IS NULL
	`

// findProvider reads the provider that meets a condition, with its domains.
func findProvider(ctx context.Context, r database.Reader, where string, args ...any) (p Provider, err error) {
	err = r.QueryRow(ctx, selectProvider+where, args...).Scan(&p.OrgID, &p.Issuer, &p.ClientID, &p.sealedSecret,
		database.ToText(&p.Slug), &p.DefaultRole, database.ToBool(&p.Enforced), database.ToOptionalTime(&p.TestedAt),
		database.ToTime(&p.CreatedAt), database.ToTime(&p.UpdatedAt))
	if err != nil {
		return Provider{}, database.OrMissing(err, noProvider(), "read an identity provider")
	}
	p.Domains, err = domainsOf(ctx, r, p.OrgID)
	return p, err
}

func providerOf(ctx context.Context, r database.Reader, orgID string) (Provider, error) {
	if !database.IsID(orgID) {
		return Provider{}, noProvider()
	}
	return findProvider(ctx, r, `WHERE p.org_id = $1`, orgID)
}

func domainsOf(ctx context.Context, r database.Reader, orgID string) ([]Domain, error) {
	domains, err := database.Collect(ctx, r, func(s database.Scanner) (d Domain, err error) {
		err = s.Scan(&d.Name, database.ToOptionalTime(&d.ProvenAt))
		return d, err
	}, `SELECT domain, proven_at FROM identity_provider_domain WHERE org_id = $1 ORDER BY domain`, orgID)
	return domains, database.Wrap(err, "read the domains of an identity provider")
}

// provenOwners are the open organizations that have proven a domain, two at most.
func provenOwners(ctx context.Context, r database.Reader, domain string) ([]string, error) {
	owners, err := database.Collect(ctx, r, database.Column[string], `
		SELECT d.org_id
		FROM identity_provider_domain d
		JOIN organization o ON o.id = d.org_id AND o.closed_at IS NULL
		WHERE d.domain = $1 AND d.proven_at IS NOT NULL
		ORDER BY d.org_id
		LIMIT 2`, domain)
	return owners, database.Wrap(err, "find who has proven a domain")
}

// putProvider stores a provider with its domains, in place of the one before.
func putProvider(ctx context.Context, tx *database.Tx, p Provider) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO identity_provider (org_id, issuer, client_id, sealed_secret, slug, default_role, enforced,
			tested_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (org_id) DO UPDATE
		SET issuer = excluded.issuer, client_id = excluded.client_id, sealed_secret = excluded.sealed_secret,
			slug = excluded.slug, default_role = excluded.default_role, enforced = excluded.enforced,
			tested_at = excluded.tested_at, updated_at = excluded.updated_at`,
		p.OrgID, p.Issuer, p.ClientID, p.sealedSecret, database.OptionalText(p.Slug), string(p.DefaultRole),
		database.Bit(p.Enforced), database.OptionalMicros(p.TestedAt), database.Micros(p.CreatedAt),
		database.Micros(p.UpdatedAt))
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM identity_provider_domain WHERE org_id = $1`, p.OrgID)
	}
	var rows [][]any
	for _, d := range p.Domains {
		rows = append(rows, []any{p.OrgID, d.Name, database.OptionalMicros(d.ProvenAt)})
	}
	if err == nil {
		err = tx.Insert(ctx, `INSERT INTO identity_provider_domain (org_id, domain, proven_at)`, rows, ``)
	}
	return database.Wrap(err, "store an identity provider")
}

// deleteProvider removes a provider. Its identities stay unused: the same issuer may
// be set up again.
func deleteProvider(ctx context.Context, tx *database.Tx, orgID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM identity_provider_domain WHERE org_id = $1`, orgID)
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM identity_provider WHERE org_id = $1`, orgID)
	}
	return database.Wrap(err, "delete an identity provider")
}

const identityColumns = `id, org_id, issuer, subject, user_id, email, linked, created_at`

func scanIdentity(s database.Scanner) (i Identity, err error) {
	err = s.Scan(&i.ID, &i.OrgID, &i.Issuer, &i.Subject, &i.UserID, &i.Email, database.ToBool(&i.Linked),
		database.ToTime(&i.CreatedAt))
	return i, err
}

// findIdentity gives the zero Identity where it is not known yet.
func findIdentity(ctx context.Context, r database.Reader, orgID, issuer, subject string) (Identity, error) {
	i, err := scanIdentity(r.QueryRow(ctx,
		`SELECT `+identityColumns+` FROM external_identity WHERE org_id = $1 AND issuer = $2 AND subject = $3`,
		orgID, issuer, subject))
	return i, database.OrMissing(err, nil, "find an identity")
}

func identitiesOf(ctx context.Context, r database.Reader, userID string) ([]Identity, error) {
	list, err := database.Collect(ctx, r, scanIdentity, `
		SELECT `+identityColumns+`
		FROM external_identity
		WHERE user_id = $1
		ORDER BY created_at, id
		LIMIT 100`, userID)
	return list, database.Wrap(err, "list identities")
}

func insertIdentity(ctx context.Context, tx *database.Tx, i Identity) error {
	_, err := tx.Exec(ctx,
		`INSERT INTO external_identity (`+identityColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		i.ID, i.OrgID, i.Issuer, i.Subject, i.UserID, i.Email, database.Bit(i.Linked), database.Micros(i.CreatedAt))
	return database.Wrap(err, "store an identity")
}

// deleteIdentity removes an identity, and reports whether it was there.
func deleteIdentity(ctx context.Context, tx *database.Tx, userID, id string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM external_identity WHERE user_id = $1 AND id = $2`, userID, id)
	return n == 1, database.Wrap(err, "delete an identity")
}

func insertCode(ctx context.Context, tx *database.Tx, hash []byte, userID, orgID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO sign_in_code (hash, user_id, org_id, expires_at) VALUES ($1, $2, $3, $4)`,
		hash, userID, orgID, database.Micros(tx.Now().Add(codeLife)))
	return database.Wrap(err, "store a sign-in code")
}

// findCode gives the person a code is for, or nobody where it is unknown, used or
// expired.
func findCode(ctx context.Context, r database.Reader, hash []byte, now int64) (userID, orgID string, err error) {
	err = r.QueryRow(ctx, `SELECT user_id, org_id FROM sign_in_code WHERE hash = $1 AND expires_at > $2`, hash,
		now).Scan(&userID, &orgID)
	return userID, orgID, database.OrMissing(err, nil, "find a sign-in code")
}

// takeCode uses up a code, and reports whether it was there.
func takeCode(ctx context.Context, tx *database.Tx, hash []byte) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM sign_in_code WHERE hash = $1`, hash)
	return n == 1, database.Wrap(err, "use a sign-in code")
}
