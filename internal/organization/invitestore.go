package organization

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
)

func scanInvite(s database.Scanner) (i Invite, err error) {
	var createdAt, expiresAt int64
	err = s.Scan(&i.ID, &i.OrgID, &i.Email, &i.Role, &i.InvitedBy, &createdAt, &expiresAt)
	i.CreatedAt, i.ExpiresAt = database.Time(createdAt), database.Time(expiresAt)
	return i, err
}

func insertInvite(ctx context.Context, tx *database.Tx, i Invite, tokenHash []byte) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO organization_invite (id, org_id, email, role, token_hash, invited_by, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		i.ID, i.OrgID, i.Email, string(i.Role), tokenHash, i.InvitedBy,
		database.Micros(i.CreatedAt), database.Micros(i.ExpiresAt))
	if err != nil {
		return fmt.Errorf("store invitation %s: %w", i.ID, err)
	}
	return nil
}

// findValidInvite finds the invitation a token stands for, if it can still be
// accepted. It is the one query that knows no organization: the token, which
// nobody guesses, leads to it.
func findValidInvite(ctx context.Context, r database.Reader, tokenHash []byte, now time.Time) (Invite, error) {
	invite, err := scanInvite(r.QueryRow(ctx, `
		SELECT i.id, i.org_id, i.email, i.role, i.invited_by, i.created_at, i.expires_at
		FROM organization_invite i
		JOIN organization o ON o.id = i.org_id
		WHERE i.token_hash = $1
			AND i.accepted_at IS NULL AND i.withdrawn_at IS NULL AND i.expires_at > $2
			AND o.closed_at IS NULL`, tokenHash, database.Micros(now)))
	if errors.Is(err, sql.ErrNoRows) {
		return Invite{}, notValid()
	}
	if err != nil {
		return Invite{}, fmt.Errorf("find an invitation by its token: %w", err)
	}
	return invite, nil
}

func findOpenInvite(ctx context.Context, r database.Reader, orgID, id string) (Invite, error) {
	missing := fault.New(fault.NotFound, "there is no such open invitation in this organization")
	if !database.IsID(id) {
		return Invite{}, missing
	}
	invite, err := scanInvite(r.QueryRow(ctx, `
		SELECT id, org_id, email, role, invited_by, created_at, expires_at
		FROM organization_invite
		WHERE org_id = $1 AND id = $2 AND accepted_at IS NULL AND withdrawn_at IS NULL`, orgID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Invite{}, missing
	}
	if err != nil {
		return Invite{}, fmt.Errorf("load invitation %s of %s: %w", id, orgID, err)
	}
	return invite, nil
}

// openInvitesTo reads the open invitation to a person, expired or not; an index
// keeps it the only one.
func openInvitesTo(ctx context.Context, r database.Reader, orgID, email string) ([]Invite, error) {
	invites, err := database.Collect(ctx, r, scanInvite, `
		SELECT id, org_id, email, role, invited_by, created_at, expires_at
		FROM organization_invite
		WHERE org_id = $1 AND email = $2 AND accepted_at IS NULL AND withdrawn_at IS NULL`, orgID, email)
	if err != nil {
		return nil, fmt.Errorf("look for an open invitation of %s: %w", orgID, err)
	}
	return invites, nil
}

func validInvites(ctx context.Context, r database.Reader, orgID string, now time.Time) ([]Invite, error) {
	invites, err := database.Collect(ctx, r, scanInvite, `
		SELECT id, org_id, email, role, invited_by, created_at, expires_at
		FROM organization_invite
		WHERE org_id = $1 AND accepted_at IS NULL AND withdrawn_at IS NULL AND expires_at > $2
		ORDER BY created_at DESC, id DESC`, orgID, database.Micros(now))
	if err != nil {
		return nil, fmt.Errorf("list the invitations of %s: %w", orgID, err)
	}
	return invites, nil
}

// updateAccepted uses up an invitation and tells whether it was still valid.
func updateAccepted(ctx context.Context, tx *database.Tx, orgID, id string) (bool, error) {
	changed, err := tx.Exec(ctx, `
		UPDATE organization_invite
		SET accepted_at = $3
		WHERE org_id = $1 AND id = $2 AND accepted_at IS NULL AND withdrawn_at IS NULL AND expires_at > $3`,
		orgID, id, database.Micros(tx.Now()))
	if err != nil {
		return false, fmt.Errorf("accept invitation %s: %w", id, err)
	}
	return changed == 1, nil
}

// updateWithdrawn ends an invitation and tells whether it was still open.
func updateWithdrawn(ctx context.Context, tx *database.Tx, orgID, id string) (bool, error) {
	changed, err := tx.Exec(ctx, `
		UPDATE organization_invite
		SET withdrawn_at = $3
		WHERE org_id = $1 AND id = $2 AND accepted_at IS NULL AND withdrawn_at IS NULL`,
		orgID, id, database.Micros(tx.Now()))
	if err != nil {
		return false, fmt.Errorf("withdraw invitation %s: %w", id, err)
	}
	return changed == 1, nil
}

// withdrawInvites ends every open invitation of an organization and names them.
func withdrawInvites(ctx context.Context, tx *database.Tx, orgID string) ([]string, error) {
	ids, err := database.Collect(ctx, tx, func(s database.Scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `
		UPDATE organization_invite
		SET withdrawn_at = $2
		WHERE org_id = $1 AND accepted_at IS NULL AND withdrawn_at IS NULL
		RETURNING id`, orgID, database.Micros(tx.Now()))
	if err != nil {
		return nil, fmt.Errorf("withdraw the invitations of %s: %w", orgID, err)
	}
	slices.Sort(ids)
	return ids, nil
}

func countOpenInvites(ctx context.Context, r database.Reader, orgID string) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT count(*) FROM organization_invite
		WHERE org_id = $1 AND accepted_at IS NULL AND withdrawn_at IS NULL`, orgID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count open invitations: %w", err)
	}
	return n, nil
}

// countInvitesTo counts the invitations of all organizations to an address: the
// one query here that is about no organization, and tells none.
func countInvitesTo(ctx context.Context, r database.Reader, email string, since time.Time) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT count(*) FROM organization_invite WHERE email = $1 AND created_at > $2`,
		email, database.Micros(since)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count invitations to an address: %w", err)
	}
	return n, nil
}

// EndInvites withdraws every open invitation, within a restore: some had ended
// since the backup.
func EndInvites(ctx context.Context, tx *database.Tx) (int64, error) {
	n, err := tx.Exec(ctx,
		`UPDATE organization_invite SET withdrawn_at = $1 WHERE accepted_at IS NULL AND withdrawn_at IS NULL`,
		database.Micros(tx.Now()))
	if err != nil {
		return 0, fmt.Errorf("end invitations: %w", err)
	}
	return n, nil
}
