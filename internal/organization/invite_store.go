package organization

import (
	"context"
	"slices"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
)

const selectInvite = `
	SELECT i.id, i.org_id, i.email, i.role, i.invited_by, i.created_at, i.expires_at
	FROM organization_invite i
	`

// isOpen is the condition that an invitation was neither accepted nor withdrawn.
const isOpen = `accepted_at IS NULL AND withdrawn_at IS NULL`

func scanInvite(s database.Scanner) (i Invite, err error) {
	err = s.Scan(&i.ID, &i.OrgID, &i.Email, &i.Role, &i.InvitedBy, database.ToTime(&i.CreatedAt),
		database.ToTime(&i.ExpiresAt))
	return i, err
}

func insertInvite(ctx context.Context, tx *database.Tx, i Invite, tokenHash []byte) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO organization_invite (id, org_id, email, role, token_hash, invited_by, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		i.ID, i.OrgID, i.Email, string(i.Role), tokenHash, i.InvitedBy,
		database.Micros(i.CreatedAt), database.Micros(i.ExpiresAt))
	return database.Wrap(err, "store invitation %s", i.ID)
}

// findValidInvite finds the invitation of a token, if it can still be accepted. It is
// not limited to an organization: nobody can guess the token.
func findValidInvite(ctx context.Context, r database.Reader, tokenHash []byte, now time.Time) (Invite, error) {
	invite, err := scanInvite(r.QueryRow(ctx, selectInvite+`
		JOIN organization o ON o.id = i.org_id AND o.closed_at IS NULL
		WHERE i.token_hash = $1 AND `+isOpen+` AND i.expires_at > $2`, tokenHash, database.Micros(now)))
	return invite, database.OrMissing(err, invalidInvite(), "find an invitation by its token")
}

func findOpenInvite(ctx context.Context, r database.Reader, orgID, id string) (Invite, error) {
	missing := fault.New(fault.NotFound, "there is no such open invitation in this organization")
	if !database.IsID(id) {
		return Invite{}, missing
	}
	invite, err := scanInvite(r.QueryRow(ctx, selectInvite+`WHERE i.org_id = $1 AND i.id = $2 AND `+isOpen, orgID, id))
	return invite, database.OrMissing(err, missing, "load invitation %s of %s", id, orgID)
}

// openInvitesTo reads the open invitation to a person, expired or not. A unique index
// allows only one.
func openInvitesTo(ctx context.Context, r database.Reader, orgID, email string) ([]Invite, error) {
	invites, err := database.Collect(ctx, r, scanInvite,
		selectInvite+`WHERE i.org_id = $1 AND i.email = $2 AND `+isOpen, orgID, email)
	return invites, database.Wrap(err, "find an open invitation of %s", orgID)
}

func validInvites(ctx context.Context, r database.Reader, orgID string, now time.Time) ([]Invite, error) {
	invites, err := database.Collect(ctx, r, scanInvite, selectInvite+`
		WHERE i.org_id = $1 AND `+isOpen+` AND i.expires_at > $2
		ORDER BY i.created_at DESC, i.id DESC`, orgID, database.Micros(now))
	return invites, database.Wrap(err, "list the invitations of %s", orgID)
}

// updateAccepted uses up an invitation, and reports whether it was still valid.
func updateAccepted(ctx context.Context, tx *database.Tx, orgID, id string) (bool, error) {
	changed, err := tx.Exec(ctx, `
		UPDATE organization_invite
		SET accepted_at = $3
		WHERE org_id = $1 AND id = $2 AND `+isOpen+` AND expires_at > $3`,
		orgID, id, database.Micros(tx.Now()))
	return changed == 1, database.Wrap(err, "accept invitation %s", id)
}

// updateWithdrawn ends an invitation, and reports whether it was still open.
func updateWithdrawn(ctx context.Context, tx *database.Tx, orgID, id string) (bool, error) {
	changed, err := tx.Exec(ctx, `
		UPDATE organization_invite
		SET withdrawn_at = $3
		WHERE org_id = $1 AND id = $2 AND `+isOpen, orgID, id, database.Micros(tx.Now()))
	return changed == 1, database.Wrap(err, "withdraw invitation %s", id)
}

// withdrawInvites ends every open invitation of an organization, and gives their ids.
func withdrawInvites(ctx context.Context, tx *database.Tx, orgID string) ([]string, error) {
	ids, err := database.Collect(ctx, tx, database.Column[string], `
		UPDATE organization_invite
		SET withdrawn_at = $2
		WHERE org_id = $1 AND `+isOpen+`
		RETURNING id`, orgID, database.Micros(tx.Now()))
	slices.Sort(ids)
	return ids, database.Wrap(err, "withdraw the invitations of %s", orgID)
}

func countOpenInvites(ctx context.Context, r database.Reader, orgID string) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT count(*) FROM organization_invite WHERE org_id = $1 AND `+isOpen, orgID).Scan(&n)
	return n, database.Wrap(err, "count open invitations")
}

// countInvitesTo counts the invitations of all organizations to an address.
func countInvitesTo(ctx context.Context, r database.Reader, email string, since time.Time) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT count(*) FROM organization_invite WHERE email = $1 AND created_at > $2`,
		email, database.Micros(since)).Scan(&n)
	return n, database.Wrap(err, "count invitations to an address")
}

// EndInvites withdraws every open invitation, within a restore: some had ended
// since the backup was made.
func EndInvites(ctx context.Context, tx *database.Tx) (int64, error) {
	n, err := tx.Exec(ctx, `UPDATE organization_invite SET withdrawn_at = $1 WHERE `+isOpen, database.Micros(tx.Now()))
	return n, database.Wrap(err, "end invitations")
}
