package policy

import (
	"context"
	"fmt"

	"writ/internal/database"
)

// The kinds of bindings.
const (
	memberKind = "member"
	clientKind = "client"
	roleKind   = "role"
)

// boundRow is one stored binding.
type boundRow struct{ kind, subject string }

func (b Bindings) rows() []boundRow {
	var rows []boundRow
	for kind, subjects := range map[string][]string{memberKind: b.Members, clientKind: b.Clients, roleKind: b.Roles} {
		for _, subject := range subjects {
			rows = append(rows, boundRow{kind, subject})
		}
	}
	return rows
}

// add adds a stored binding. An unknown kind is an error, because a policy without it would apply to more callers.
func (b *Bindings) add(row boundRow) error {
	switch row.kind {
	case memberKind:
		b.Members = append(b.Members, row.subject)
	case clientKind:
		b.Clients = append(b.Clients, row.subject)
	case roleKind:
		b.Roles = append(b.Roles, row.subject)
	default:
		return fmt.Errorf("a binding of the unknown kind %q", row.kind)
	}
	return nil
}

func readBindings(ctx context.Context, r database.Reader, orgID, policyID string) (Bindings, error) {
	rows, err := database.Collect(ctx, r, func(s database.Scanner) (row boundRow, err error) {
		err = s.Scan(&row.kind, &row.subject)
		return row, err
	}, `
		SELECT kind, subject
		FROM policy_binding
		WHERE org_id = $1 AND policy_id = $2
		ORDER BY kind, subject`, orgID, policyID)
	if err != nil {
		return Bindings{}, fmt.Errorf("read the bindings of policy %s: %w", policyID, err)
	}
	b := Bindings{Members: []string{}, Clients: []string{}, Roles: []string{}}
	for _, row := range rows {
		if err := b.add(row); err != nil {
			return Bindings{}, fmt.Errorf("policy %s: %w", policyID, err)
		}
	}
	return b, nil
}

// replaceBindings makes these the only bindings of a policy.
func replaceBindings(ctx context.Context, tx *database.Tx, p Policy, b Bindings) error {
	_, err := tx.Exec(ctx, `DELETE FROM policy_binding WHERE org_id = $1 AND policy_id = $2`, p.OrgID, p.ID)
	if err != nil {
		return fmt.Errorf("remove the bindings of policy %s: %w", p.ID, err)
	}
	for _, row := range b.rows() {
		_, err := tx.Exec(ctx, `
			INSERT INTO policy_binding (org_id, policy_id, kind, subject)
			VALUES ($1, $2, $3, $4)`, p.OrgID, p.ID, row.kind, row.subject)
		if err != nil {
			return fmt.Errorf("bind policy %s: %w", p.ID, err)
		}
	}
	return nil
}

// judgedRow is a policy that is active or runs as a shadow, with one of its bindings or none.
type judgedRow struct {
	id      string
	version int    // 0: not active
	digest  string // of the active version's text
	shadow  int    // 0: none
	face    Face
	boundRow
}

// selectJudged reads the active and the shadow policies of an organization with their bindings. It is one statement:
// a policy read with bindings of another moment could apply to more people than it ever did.
func selectJudged(ctx context.Context, r database.Reader, orgID string) ([]judgedRow, error) {
	rows, err := database.Collect(ctx, r, func(s database.Scanner) (row judgedRow, err error) {
		err = s.Scan(&row.id, &row.version, &row.digest, &row.shadow, &row.face, &row.kind, &row.subject)
		return row, err
	}, `
		SELECT p.id, COALESCE(p.active_version, 0), COALESCE(v.digest, ''), COALESCE(p.shadow_version, 0), p.face, COALESCE(b.kind, ''), COALESCE(b.subject, '')
		FROM policy p
		LEFT JOIN policy_version v ON v.policy_id = p.id AND v.version = p.active_version
		LEFT JOIN policy_binding b ON b.policy_id = p.id
		WHERE p.org_id = $1 AND (p.active_version IS NOT NULL OR p.shadow_version IS NOT NULL) AND p.deleted_at IS NULL
		ORDER BY p.id, b.kind, b.subject`, orgID)
	return rows, database.Wrap(err, "read the active policies")
}
