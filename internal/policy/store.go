package policy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
)

// columns are those scanPolicy reads, of policy as p.
const columns = `
	p.id,
	p.org_id,
	p.name,
	p.latest_version,
	p.active_version,
	p.shadow_version,
	p.shadow_since,
	p.face,
	p.activated_at,
	p.created_at,
	p.updated_at`

func scanPolicy(s database.Scanner) (p Policy, err error) {
	var active, shadow, shadowSince, activated sql.NullInt64
	var created, updated int64
	err = s.Scan(&p.ID, &p.OrgID, &p.Name, &p.LatestVersion, &active, &shadow, &shadowSince, &p.Face, &activated,
		&created, &updated)
	p.ActiveVersion, p.ShadowVersion = int(active.Int64), int(shadow.Int64)
	p.ShadowSince = database.OptionalTime(shadowSince)
	p.ActivatedAt = database.OptionalTime(activated)
	p.CreatedAt, p.UpdatedAt = database.Time(created), database.Time(updated)
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

// updatePolicy writes everything of a policy that changes.
func updatePolicy(ctx context.Context, tx *database.Tx, p Policy) error {
	active := sql.NullInt64{Int64: int64(p.ActiveVersion), Valid: p.ActiveVersion != 0}
	shadow := sql.NullInt64{Int64: int64(p.ShadowVersion), Valid: p.ShadowVersion != 0}
	changed, err := tx.Exec(ctx, `
		UPDATE policy
		SET name = $3, latest_version = $4, active_version = $5, activated_at = $6, updated_at = $7,
			shadow_version = $8, shadow_since = $9
		WHERE org_id = $1 AND id = $2 AND deleted_at IS NULL`,
		p.OrgID, p.ID, p.Name, p.LatestVersion, active, database.OptionalMicros(p.ActivatedAt),
		database.Micros(p.UpdatedAt),
		shadow, database.OptionalMicros(p.ShadowSince))
	if err == nil && changed != 1 {
		err = errors.New("the row is gone")
	}
	return nameFault(err, p)
}

// nameFault tells a name that is taken from other errors of storing a policy.
func nameFault(err error, p Policy) error {
	switch {
	case err == nil:
		return nil
	case database.IsUnique(err):
		return fault.New(fault.Conflict, "the organization has a policy named %q already: give another name", p.Name)
	}
	return fmt.Errorf("store policy %s: %w", p.ID, err)
}

func markDeleted(ctx context.Context, tx *database.Tx, p Policy) error {
	_, err := tx.Exec(ctx, `
		UPDATE policy
		SET deleted_at = $3, shadow_version = NULL, shadow_since = NULL
		WHERE org_id = $1 AND id = $2 AND deleted_at IS NULL AND active_version IS NULL`, p.OrgID, p.ID,
		database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("delete policy %s: %w", p.ID, err)
	}
	return nil
}

// find reads a policy of an organization. Any other does not exist.
func find(ctx context.Context, r database.Reader, orgID, id string) (Policy, error) {
	if !database.IsID(id) {
		return Policy{}, notFound()
	}
	p, err := scanPolicy(r.QueryRow(ctx, `
		SELECT `+columns+`
		FROM policy p
		WHERE p.org_id = $1 AND p.id = $2 AND p.deleted_at IS NULL`, orgID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Policy{}, notFound()
	}
	if err != nil {
		return Policy{}, fmt.Errorf("read policy %s: %w", id, err)
	}
	return p, nil
}

// findByName reads the policy of a name. It is sql.ErrNoRows where there is none.
func findByName(ctx context.Context, r database.Reader, orgID, name string) (Policy, error) {
	p, err := scanPolicy(r.QueryRow(ctx, `
		SELECT `+columns+`
		FROM policy p
		WHERE p.org_id = $1 AND p.name = $2 AND p.deleted_at IS NULL`, orgID, name))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Policy{}, fmt.Errorf("look for a policy by its name: %w", err)
	}
	return p, err
}

// findOrg reads the organization of a policy.
func findOrg(ctx context.Context, r database.Reader, id string) (orgID string, err error) {
	if !database.IsID(id) {
		return "", notFound()
	}
	err = r.QueryRow(ctx, `SELECT org_id FROM policy WHERE id = $1 AND deleted_at IS NULL`, id).Scan(&orgID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", notFound()
	}
	if err != nil {
		return "", fmt.Errorf("read the organization of policy %s: %w", id, err)
	}
	return orgID, nil
}

func countPolicies(ctx context.Context, r database.Reader, orgID string) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT count(*) FROM policy WHERE org_id = $1 AND deleted_at IS NULL`, orgID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the policies: %w", err)
	}
	return n, nil
}

// countActiveRules counts the rules of the other active policies.
func countActiveRules(ctx context.Context, r database.Reader, orgID, exceptID string) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COALESCE(SUM(v.rules), 0)
		FROM policy p
		JOIN policy_version v ON v.policy_id = p.id AND v.version = p.active_version
		WHERE p.org_id = $1 AND p.id <> $2 AND p.active_version IS NOT NULL AND p.deleted_at IS NULL`, orgID,
		exceptID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the active rules: %w", err)
	}
	return n, nil
}

// Filter says which policies a list shows. Zero values ask for nothing.
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
	where, args := []string{`p.org_id = $1`, `p.deleted_at IS NULL`}, []any{orgID}
	switch f.Status {
	case Active:
		where = append(where, `p.active_version IS NOT NULL`)
	case Inactive:
		where = append(where, `p.active_version IS NULL AND p.activated_at IS NOT NULL`)
	case Draft:
		where = append(where, `p.active_version IS NULL AND p.activated_at IS NULL`)
	}
	if f.Name != "" {
		args = append(args, f.Name)
		where = append(where, fmt.Sprintf(`p.name = $%d`, len(args)))
	}
	if !after.IsZero() {
		args = append(args, after.Micros, after.ID)
		where = append(where, fmt.Sprintf(`(p.created_at, p.id) < ($%d, $%d)`, len(args)-1, len(args)))
	}
	args = append(args, limit)
	policies, err := database.Collect(ctx, r, scanPolicy, `
		SELECT `+columns+`
		FROM policy p
		WHERE `+strings.Join(where, ` AND `)+`
		ORDER BY p.created_at DESC, p.id DESC
		LIMIT `+fmt.Sprintf(`$%d`, len(args)), args...)
	if err != nil {
		return nil, fmt.Errorf("list policies: %w", err)
	}
	return policies, nil
}
