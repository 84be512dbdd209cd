package organization

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

func insertOrganization(ctx context.Context, tx *database.Tx, o Organization) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO organization (id, name, created_at, updated_at)
		VALUES ($1, $2, $3, $3)`, o.ID, o.Name, database.Micros(o.CreatedAt))
	if err != nil {
		return fmt.Errorf("store organization %s: %w", o.ID, err)
	}
	return nil
}

func updateName(ctx context.Context, tx *database.Tx, orgID, name string) error {
	_, err := tx.Exec(ctx, `
		UPDATE organization
		SET name = $2, updated_at = $3
		WHERE id = $1`, orgID, name, database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("rename organization %s: %w", orgID, err)
	}
	return nil
}

func updateClosed(ctx context.Context, tx *database.Tx, orgID string) error {
	_, err := tx.Exec(ctx, `
		UPDATE organization
		SET closed_at = $2, updated_at = $2
		WHERE id = $1 AND closed_at IS NULL`, orgID, database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("close organization %s: %w", orgID, err)
	}
	return nil
}

// findMembership reads an open organization for someone with the role.
func findMembership(ctx context.Context, r database.Reader, orgID string, role principal.Role) (Membership, error) {
	missing := fault.New(fault.NotFound, "there is no such organization")
	if !database.IsID(orgID) {
		return Membership{}, missing
	}
	m := Membership{Role: role}
	var createdAt int64
	err := r.QueryRow(ctx, `
		SELECT o.id, o.name, o.created_at,
			(SELECT COUNT(*) FROM organization_member m WHERE m.org_id = o.id)
		FROM organization o
		WHERE o.id = $1 AND o.closed_at IS NULL`, orgID).
		Scan(&m.ID, &m.Name, &createdAt, &m.MemberCount)
	if errors.Is(err, sql.ErrNoRows) {
		return Membership{}, missing
	}
	if err != nil {
		return Membership{}, fmt.Errorf("load organization %s: %w", orgID, err)
	}
	m.CreatedAt = database.Time(createdAt)
	return m, nil
}

func memberships(ctx context.Context, r database.Reader, userID string) ([]Membership, error) {
	list, err := database.Collect(ctx, r, func(s database.Scanner) (m Membership, err error) {
		var createdAt int64
		err = s.Scan(&m.ID, &m.Name, &createdAt, &m.Role, &m.MemberCount)
		m.CreatedAt = database.Time(createdAt)
		return m, err
	}, `
		SELECT o.id, o.name, o.created_at, mine.role,
			(SELECT COUNT(*) FROM organization_member m WHERE m.org_id = o.id)
		FROM organization_member mine
		JOIN organization o ON o.id = mine.org_id
		WHERE mine.user_id = $1 AND o.closed_at IS NULL`, userID)
	if err != nil {
		return nil, fmt.Errorf("list the organizations of %s: %w", userID, err)
	}
	return list, nil
}

// findRole reads a role by the primary keys of both tables: it runs for every
// request.
func findRole(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error) {
	if !database.IsID(orgID) || !database.IsID(userID) {
		return "", notMember()
	}
	var role principal.Role
	err := r.QueryRow(ctx, `
		SELECT m.role
		FROM organization_member m
		JOIN organization o ON o.id = m.org_id
		WHERE m.org_id = $1 AND m.user_id = $2 AND o.closed_at IS NULL`, orgID, userID).
		Scan(&role)
	if errors.Is(err, sql.ErrNoRows) {
		return "", notMember()
	}
	if err != nil {
		return "", fmt.Errorf("load the role of %s in %s: %w", userID, orgID, err)
	}
	return role, nil
}

func scanMember(s database.Scanner) (m Member, err error) {
	var joinedAt int64
	err = s.Scan(&m.UserID, &m.Email, &m.Name, &m.Role, &joinedAt)
	m.JoinedAt = database.Time(joinedAt)
	return m, err
}

// membersAfter reads the members behind a position. The zero cursor stands
// before everyone, since nobody joined in 1970.
func membersAfter(
	ctx context.Context, r database.Reader, orgID string, after page.Cursor, limit int,
) ([]Member, error) {
	members, err := database.Collect(ctx, r, scanMember, `
		SELECT m.user_id, u.email, u.name, m.role, m.joined_at
		FROM organization_member m
		JOIN user_account u ON u.id = m.user_id
		WHERE m.org_id = $1 AND (m.joined_at > $2 OR (m.joined_at = $2 AND m.user_id > $3))
		ORDER BY m.joined_at, m.user_id
		LIMIT $4`, orgID, after.Micros, after.ID, limit)
	if err != nil {
		return nil, fmt.Errorf("list the members of %s: %w", orgID, err)
	}
	return members, nil
}

func findMember(ctx context.Context, r database.Reader, orgID, userID string) (Member, error) {
	missing := fault.New(fault.NotFound, "there is no such member in this organization")
	if !database.IsID(userID) {
		return Member{}, missing
	}
	m, err := scanMember(r.QueryRow(ctx, `
		SELECT m.user_id, u.email, u.name, m.role, m.joined_at
		FROM organization_member m
		JOIN user_account u ON u.id = m.user_id
		WHERE m.org_id = $1 AND m.user_id = $2`, orgID, userID))
	if errors.Is(err, sql.ErrNoRows) {
		return Member{}, missing
	}
	if err != nil {
		return Member{}, fmt.Errorf("load member %s of %s: %w", userID, orgID, err)
	}
	return m, nil
}

func isMemberEmail(ctx context.Context, r database.Reader, orgID, email string) (bool, error) {
	var count int
	err := r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM organization_member m
		JOIN user_account u ON u.id = m.user_id
		WHERE m.org_id = $1 AND u.email = $2`, orgID, email).
		Scan(&count)
	if err != nil {
		return false, fmt.Errorf("look for a member of %s by e-mail: %w", orgID, err)
	}
	return count > 0, nil
}

// CountApprovers is how many members but some may decide about approvals, for who
// must know it inside a transaction.
func CountApprovers(ctx context.Context, r database.Reader, orgID string, except ...string) (count int, err error) {
	type holder struct {
		userID string
		role   principal.Role
	}
	members, err := database.Collect(ctx, r, func(s database.Scanner) (h holder, err error) {
		err = s.Scan(&h.userID, &h.role)
		return h, err
	}, `SELECT user_id, role FROM organization_member WHERE org_id = $1`, orgID)
	if err != nil {
		return 0, fmt.Errorf("read the roles of organization %s: %w", orgID, err)
	}
	for _, m := range members {
		if m.role.May(principal.DecideApprovals) && !slices.Contains(except, m.userID) {
			count++
		}
	}
	return count, nil
}

// Everybody are the members of an organization, without their names, for who must
// know them inside a transaction.
func Everybody(ctx context.Context, r database.Reader, orgID string) ([]Member, error) {
	members, err := database.Collect(ctx, r, func(s database.Scanner) (m Member, err error) {
		err = s.Scan(&m.UserID, &m.Role, &m.Email)
		return m, err
	}, `
		SELECT m.user_id, m.role, a.email
		FROM organization_member m
		JOIN user_account a ON a.id = m.user_id
		WHERE m.org_id = $1
		ORDER BY m.user_id`, orgID)
	if err != nil {
		return nil, fmt.Errorf("read the members of organization %s: %w", orgID, err)
	}
	return members, nil
}

// RoleOf is what a person is in an organization, or empty where they are no member,
// for who must know it inside a transaction.
func RoleOf(ctx context.Context, r database.Reader, orgID, userID string) (role principal.Role, err error) {
	err = r.QueryRow(ctx, `SELECT role FROM organization_member WHERE org_id = $1 AND user_id = $2`, orgID,
		userID).Scan(&role)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read the role of user %s: %w", userID, err)
	}
	return role, nil
}

// Address is the e-mail address of a person, or empty where there is no such
// person any more.
func Address(ctx context.Context, r database.Reader, userID string) (address string, err error) {
	err = r.QueryRow(ctx, `SELECT email FROM user_account WHERE id = $1`, userID).Scan(&address)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read the address of user %s: %w", userID, err)
	}
	return address, nil
}

func countOwners(ctx context.Context, r database.Reader, orgID string) (count int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM organization_member
		WHERE org_id = $1 AND role = $2`, orgID, string(principal.Owner)).
		Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("count the owners of %s: %w", orgID, err)
	}
	return count, nil
}

func insertMember(ctx context.Context, tx *database.Tx, orgID, userID string, role principal.Role) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO organization_member (org_id, user_id, role, joined_at)
		VALUES ($1, $2, $3, $4)`, orgID, userID, string(role), database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("store member %s of %s: %w", userID, orgID, err)
	}
	return nil
}

func updateRole(ctx context.Context, tx *database.Tx, orgID, userID string, role principal.Role) error {
	_, err := tx.Exec(ctx, `
		UPDATE organization_member
		SET role = $3
		WHERE org_id = $1 AND user_id = $2`, orgID, userID, string(role))
	if err != nil {
		return fmt.Errorf("change the role of %s in %s: %w", userID, orgID, err)
	}
	return nil
}

func deleteMember(ctx context.Context, tx *database.Tx, orgID, userID string) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM organization_member
		WHERE org_id = $1 AND user_id = $2`, orgID, userID)
	if err != nil {
		return fmt.Errorf("remove %s from %s: %w", userID, orgID, err)
	}
	return nil
}

func countMemberships(ctx context.Context, r database.Reader, userID string) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT count(*) FROM organization_member WHERE user_id = $1`, userID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the organizations of a person: %w", err)
	}
	return n, nil
}
