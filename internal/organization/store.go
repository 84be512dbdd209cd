package organization

import (
	"context"
	"slices"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

func insertOrganization(ctx context.Context, tx *database.Tx, o Organization) error {
	_, err := tx.Exec(ctx, `INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, $2, $3, $3)`,
		o.ID, o.Name, database.Micros(o.CreatedAt))
	return database.Wrap(err, "store organization %s", o.ID)
}

func updateName(ctx context.Context, tx *database.Tx, orgID, name string) error {
	_, err := tx.Exec(ctx, `UPDATE organization SET name = $2, updated_at = $3 WHERE id = $1`, orgID, name,
		database.Micros(tx.Now()))
	return database.Wrap(err, "rename organization %s", orgID)
}

func updateClosed(ctx context.Context, tx *database.Tx, orgID string) error {
	_, err := tx.Exec(ctx, `
		UPDATE organization
		SET closed_at = $2, updated_at = $2
		WHERE id = $1 AND closed_at IS NULL`, orgID, database.Micros(tx.Now()))
	if err != nil {
		return database.Wrap(err, "close organization %s", orgID)
	}
	seats, err := seatsIn(ctx, tx, orgID)
	if err != nil {
		return err
	}
	return storeSeats(ctx, tx, orgID, seats, 0) // nobody has a seat in a closed one
}

// AllIDs are the organizations, open and closed: each has a log.
func AllIDs(ctx context.Context, r database.Reader) ([]string, error) {
	ids, err := database.Collect(ctx, r, func(s database.Scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `SELECT id FROM organization ORDER BY id`)
	return ids, database.Wrap(err, "list the organizations")
}

// findMembership reads an open organization for someone with the role.
func findMembership(ctx context.Context, r database.Reader, orgID string, role principal.Role) (Membership, error) {
	missing := fault.New(fault.NotFound, "there is no such organization")
	if !database.IsID(orgID) {
		return Membership{}, missing
	}
	m := Membership{Role: role}
	err := r.QueryRow(ctx, `
		SELECT o.id, o.name, o.created_at,
			(SELECT COUNT(*) FROM organization_member m WHERE m.org_id = o.id), o.require_second_factor
		FROM organization o
		WHERE o.id = $1 AND o.closed_at IS NULL`, orgID).
		Scan(&m.ID, &m.Name, database.ToTime(&m.CreatedAt), &m.MemberCount, database.ToBool(&m.RequireSecondFactor))
	return m, database.OrMissing(err, missing, "load organization %s", orgID)
}

func membershipsOf(ctx context.Context, r database.Reader, userID string) ([]Membership, error) {
	list, err := database.Collect(ctx, r, func(s database.Scanner) (m Membership, err error) {
		err = s.Scan(&m.ID, &m.Name, database.ToTime(&m.CreatedAt), &m.Role, &m.MemberCount,
			database.ToBool(&m.RequireSecondFactor))
		return m, err
	}, `
		SELECT o.id, o.name, o.created_at, mine.role,
			(SELECT COUNT(*) FROM organization_member m WHERE m.org_id = o.id), o.require_second_factor
		FROM organization_member mine
		JOIN organization o ON o.id = mine.org_id
		WHERE mine.user_id = $1 AND o.closed_at IS NULL`, userID)
	return list, database.Wrap(err, "list the organizations of %s", userID)
}

// RoleIn is Service.RoleOf with any reader, such as a change that relies on the role.
// It reads by the primary keys of both tables, because every request needs it.
func RoleIn(ctx context.Context, r database.Reader, orgID, userID string) (role principal.Role, err error) {
	if !database.IsID(orgID) || !database.IsID(userID) {
		return "", notMember()
	}
	err = r.QueryRow(ctx, `
		SELECT m.role
		FROM organization_member m
		JOIN organization o ON o.id = m.org_id
		WHERE m.org_id = $1 AND m.user_id = $2 AND o.closed_at IS NULL`, orgID, userID).
		Scan(&role)
	return role, database.OrMissing(err, notMember(), "load the role of %s in %s", userID, orgID)
}

const selectMember = `
	SELECT m.user_id, u.email, u.name, m.role, m.joined_at
	FROM organization_member m
	JOIN user_account u ON u.id = m.user_id
	`

func scanMember(s database.Scanner) (m Member, err error) {
	err = s.Scan(&m.UserID, &m.Email, &m.Name, &m.Role, database.ToTime(&m.JoinedAt))
	return m, err
}

// membersAfter reads the members after a position. The zero cursor comes before
// everyone, since nobody joined in 1970.
func membersAfter(
	ctx context.Context, r database.Reader, orgID string, after page.Cursor, limit int,
) ([]Member, error) {
	members, err := database.Collect(ctx, r, scanMember, selectMember+`
		WHERE m.org_id = $1 AND (m.joined_at > $2 OR (m.joined_at = $2 AND m.user_id > $3))
		ORDER BY m.joined_at, m.user_id
		LIMIT $4`, orgID, after.Micros, after.ID, limit)
	return members, database.Wrap(err, "list the members of %s", orgID)
}

func noSuchMember() error {
	return fault.New(fault.NotFound, "there is no such member in this organization")
}

func findMember(ctx context.Context, r database.Reader, orgID, userID string) (Member, error) {
	if !database.IsID(userID) {
		return Member{}, noSuchMember()
	}
	m, err := scanMember(r.QueryRow(ctx, selectMember+`WHERE m.org_id = $1 AND m.user_id = $2`, orgID, userID))
	return m, database.OrMissing(err, noSuchMember(), "load member %s of %s", userID, orgID)
}

func findMemberByEmail(ctx context.Context, r database.Reader, orgID, email string) (Member, error) {
	m, err := scanMember(r.QueryRow(ctx, selectMember+`WHERE m.org_id = $1 AND u.email = $2`, orgID, email))
	return m, database.OrMissing(err, noSuchMember(), "find a member of %s by e-mail", orgID)
}

// AllMembers are the members of an organization, with any reader.
func AllMembers(ctx context.Context, r database.Reader, orgID string) ([]Member, error) {
	members, err := database.Collect(ctx, r, scanMember, selectMember+`WHERE m.org_id = $1 ORDER BY m.user_id`, orgID)
	return members, database.Wrap(err, "read the members of organization %s", orgID)
}

// CountApprovers counts the members who may decide about approvals, without some
// people.
func CountApprovers(ctx context.Context, r database.Reader, orgID string, except ...string) (count int, err error) {
	members, err := database.Collect(ctx, r, func(s database.Scanner) (m Member, err error) {
		err = s.Scan(&m.UserID, &m.Role)
		return m, err
	}, `SELECT user_id, role FROM organization_member WHERE org_id = $1`, orgID)
	for _, m := range members {
		if m.Role.May(principal.DecideApprovals) && !slices.Contains(except, m.UserID) {
			count++
		}
	}
	return count, database.Wrap(err, "read the roles of organization %s", orgID)
}

// RoleOf is the role of a person in an organization, open or closed; empty for
// people who are not members.
func RoleOf(ctx context.Context, r database.Reader, orgID, userID string) (role principal.Role, err error) {
	err = r.QueryRow(ctx, `SELECT role FROM organization_member WHERE org_id = $1 AND user_id = $2`, orgID,
		userID).Scan(&role)
	return role, database.OrMissing(err, nil, "read the role of user %s", userID)
}

// Address is the e-mail address of a person, or empty if there is no such person.
func Address(ctx context.Context, r database.Reader, userID string) (address string, err error) {
	err = r.QueryRow(ctx, `SELECT email FROM user_account WHERE id = $1`, userID).Scan(&address)
	return address, database.OrMissing(err, nil, "read the address of user %s", userID)
}

func countOwners(ctx context.Context, r database.Reader, orgID string) (count int, err error) {
	err = r.QueryRow(ctx, `SELECT COUNT(*) FROM organization_member WHERE org_id = $1 AND role = $2`, orgID,
		string(principal.Owner)).Scan(&count)
	return count, database.Wrap(err, "count the owners of %s", orgID)
}

func insertMember(ctx context.Context, tx *database.Tx, orgID, userID string, role principal.Role) error {
	_, err := tx.Exec(ctx, `INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)`,
		orgID, userID, string(role), database.Micros(tx.Now()))
	if err != nil {
		return database.Wrap(err, "store member %s of %s", userID, orgID)
	}
	return countSeats(ctx, tx, orgID, 1)
}

func updateRole(ctx context.Context, tx *database.Tx, orgID, userID string, role principal.Role) error {
	_, err := tx.Exec(ctx, `UPDATE organization_member SET role = $3 WHERE org_id = $1 AND user_id = $2`, orgID, userID,
		string(role))
	return database.Wrap(err, "change the role of %s in %s", userID, orgID)
}

func deleteMember(ctx context.Context, tx *database.Tx, orgID, userID string) error {
	removed, err := tx.Exec(ctx, `DELETE FROM organization_member WHERE org_id = $1 AND user_id = $2`, orgID, userID)
	if err != nil || removed == 0 {
		return database.Wrap(err, "remove %s from %s", userID, orgID)
	}
	return countSeats(ctx, tx, orgID, -removed)
}

func countMemberships(ctx context.Context, r database.Reader, userID string) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT count(*) FROM organization_member WHERE user_id = $1`, userID).Scan(&n)
	return n, database.Wrap(err, "count the organizations of %s", userID)
}

// OwnersOf are the owners of an open organization. A closed or unknown one has none.
func OwnersOf(ctx context.Context, r database.Reader, orgID string) ([]string, error) {
	owners, err := database.Collect(ctx, r, database.Column[string], `
		SELECT m.user_id
		FROM organization_member m
		JOIN organization o ON o.id = m.org_id AND o.closed_at IS NULL
		WHERE m.org_id = $1 AND m.role = $2
		ORDER BY m.user_id`, orgID, string(principal.Owner))
	return owners, database.Wrap(err, "read the owners of %s", orgID)
}
