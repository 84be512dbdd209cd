package policy

import (
	"context"
	"database/sql"
	"errors"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
)

// columns are those scanPolicy reads, of policy as p.
const columns = `
	p.id, p.org_id, p.name, p.latest_version, COALESCE(p.active_version, 0), COALESCE(p.shadow_version, 0),
	p.shadow_since, p.face, p.activated_at, p.created_at, p.updated_at`

func scanPolicy(s database.Scanner) (p Policy, err error) {
	err = s.Scan(&p.ID, &p.OrgID, &p.Name, &p.LatestVersion, &p.ActiveVersion, &p.ShadowVersion,
		database.ToOptionalTime(&p.ShadowSince), &p.Face, database.ToOptionalTime(&p.ActivatedAt),
		database.ToTime(&p.CreatedAt), database.ToTime(&p.UpdatedAt))
	return p, err
}

func insertPolicy(ctx context.Context, tx *database.Tx, p Policy) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO policy (id, org_id, name, latest_version, face, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		p.ID, p.OrgID, p.Name, p.LatestVersion, string(p.Face), database.Micros(p.CreatedAt),
		database.Micros(p.UpdatedAt))
	return nameFault(err, p)
}

// updatePolicy writes every column of a policy that can change.
func updatePolicy(ctx context.Context, tx *database.Tx, p Policy) error {
	changed, err := tx.Exec(ctx, `
		UPDATE policy
		SET name = $3, latest_version = $4, active_version = $5, activated_at = $6, updated_at = $7,
			shadow_version = $8, shadow_since = $9
		WHERE org_id = $1 AND id = $2 AND deleted_at IS NULL`,
		p.OrgID, p.ID, p.Name, p.LatestVersion, optionalVersion(p.ActiveVersion),
		database.OptionalMicros(p.ActivatedAt), database.Micros(p.UpdatedAt),
		optionalVersion(p.ShadowVersion), database.OptionalMicros(p.ShadowSince))
	if err == nil && changed != 1 {
		err = errors.New("the row is gone")
	}
	return nameFault(err, p)
}

// optionalVersion stores version 0, which means none, as NULL.
func optionalVersion(number int) sql.NullInt64 {
	return sql.NullInt64{Int64: int64(number), Valid: number != 0}
}

// nameFault turns a violated unique index into a Conflict: the name is taken.
func nameFault(err error, p Policy) error {
	if database.IsUnique(err) {
		return fault.New(fault.Conflict, "the organization has a policy named %q already: give another name", p.Name)
	}
	return database.Wrap(err, "store policy %s", p.ID)
}

func markDeleted(ctx context.Context, tx *database.Tx, p Policy) error {
	_, err := tx.Exec(ctx, `
		UPDATE policy
		SET deleted_at = $3, shadow_version = NULL, shadow_since = NULL
		WHERE org_id = $1 AND id = $2 AND deleted_at IS NULL AND active_version IS NULL`, p.OrgID, p.ID,
		database.Micros(tx.Now()))
	return database.Wrap(err, "delete policy %s", p.ID)
}

// find reads a policy of an organization. A policy of another organization is not found.
func find(ctx context.Context, r database.Reader, orgID, id string) (Policy, error) {
	if !database.IsID(id) {
		return Policy{}, notFound()
	}
	p, err := scanPolicy(r.QueryRow(ctx, `
		SELECT `+columns+`
		FROM policy p
		WHERE p.org_id = $1 AND p.id = $2 AND p.deleted_at IS NULL`, orgID, id))
	return p, database.OrMissing(err, notFound(), "read policy %s", id)
}

// findByName reads the policy with a name. The error is sql.ErrNoRows if there is none.
func findByName(ctx context.Context, r database.Reader, orgID, name string) (Policy, error) {
	p, err := scanPolicy(r.QueryRow(ctx, `
		SELECT `+columns+`
		FROM policy p
		WHERE p.org_id = $1 AND p.name = $2 AND p.deleted_at IS NULL`, orgID, name))
	return p, database.Wrap(err, "find a policy by its name")
}

// findOrg reads the organization of a policy.
func findOrg(ctx context.Context, r database.Reader, id string) (orgID string, err error) {
	if !database.IsID(id) {
		return "", notFound()
	}
	err = r.QueryRow(ctx, `SELECT org_id FROM policy WHERE id = $1 AND deleted_at IS NULL`, id).Scan(&orgID)
	return orgID, database.OrMissing(err, notFound(), "read the organization of policy %s", id)
}

func countPolicies(ctx context.Context, r database.Reader, orgID string) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT count(*) FROM policy WHERE org_id = $1 AND deleted_at IS NULL`, orgID).Scan(&n)
	return n, database.Wrap(err, "count the policies")
}

// countActiveRules counts the rules of the other active policies.
func countActiveRules(ctx context.Context, r database.Reader, orgID, exceptID string) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COALESCE(SUM(v.rules), 0)
		FROM policy p
		JOIN policy_version v ON v.policy_id = p.id AND v.version = p.active_version
		WHERE p.org_id = $1 AND p.id <> $2 AND p.active_version IS NOT NULL AND p.deleted_at IS NULL`, orgID,
		exceptID).Scan(&n)
	return n, database.Wrap(err, "count the active rules")
}

// Filter selects the policies of a list. The zero value selects all.
type Filter struct {
	Status Status
	Name   string // exactly
}

// scope names the list in its cursors.
func (f Filter) scope(orgID string) string { return orgID + "/" + string(f.Status) + "/" + f.Name }

// selectPolicies reads up to limit policies after a position, newest first.
func selectPolicies(
	ctx context.Context, r database.Reader, orgID string, f Filter, after page.Cursor, limit int,
) ([]Policy, error) {
	var where database.Where
	where.And(`p.org_id = ?`, orgID)
	where.And(`p.deleted_at IS NULL`)
	switch f.Status {
	case Active:
		where.And(`p.active_version IS NOT NULL`)
	case Inactive:
		where.And(`p.active_version IS NULL AND p.activated_at IS NOT NULL`)
	case Draft:
		where.And(`p.active_version IS NULL AND p.activated_at IS NULL`)
	}
	if f.Name != "" {
		where.And(`p.name = ?`, f.Name)
	}
	if !after.IsZero() {
		where.And(`(p.created_at, p.id) < (?, ?)`, after.Micros, after.ID)
	}
	policies, err := database.Collect(ctx, r, scanPolicy, `
		SELECT `+columns+`
		FROM policy p`+where.String()+`
		ORDER BY p.created_at DESC, p.id DESC
		LIMIT `+where.Bind(limit), where.Args...)
	return policies, database.Wrap(err, "list policies")
}
