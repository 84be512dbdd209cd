package policy

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

func storeDraft(ctx context.Context, tx *database.Tx, p principal.Principal, staged StagedProfile) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO policy_profile_draft (org_id, owner_id, name, profile, hash, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (org_id, owner_id) DO UPDATE
		SET name = excluded.name, profile = excluded.profile, hash = excluded.hash, updated_at = excluded.updated_at`,
		p.OrgID, p.UserID, staged.Name, staged.Text, staged.Hash, database.Micros(tx.Now()))
	return database.Wrap(err, "store a staged profile")
}

// findDraft reads what a person has staged.
func findDraft(ctx context.Context, r database.Reader, orgID, ownerID string) (staged StagedProfile, err error) {
	err = r.QueryRow(ctx, `
		SELECT name, profile, hash
		FROM policy_profile_draft
		WHERE org_id = $1 AND owner_id = $2`, orgID, ownerID).Scan(&staged.Name, &staged.Text, &staged.Hash)
	missing := fault.New(fault.Conflict, "nothing is staged: send a profile first (PUT /policies/profiles/draft)")
	return staged, database.OrMissing(err, missing, "read a staged profile")
}

// proposalColumns are those scanProposal reads, of policy_profile as f and its policy as p. Proposals whose policy was
// deleted are left out.
const proposalColumns = `
	f.id, f.policy_id, f.version, f.owner_id, f.author_kind, f.author_id, f.name, f.reason, f.profile, f.hash,
	f.state, f.proposed_at, f.decided_by, f.decided_at, f.confirmation,
	CASE WHEN p.active_version = f.version THEN 1 ELSE 0 END
	FROM policy_profile f
	JOIN policy p ON p.org_id = f.org_id AND p.id = f.policy_id AND p.deleted_at IS NULL`

func scanProposal(s database.Scanner) (f Proposal, err error) {
	err = s.Scan(&f.ID, &f.PolicyID, &f.Version, &f.OwnerID, &f.Author.Kind, &f.Author.ID, &f.Name, &f.Reason, &f.Text,
		&f.Hash, &f.State, database.ToTime(&f.ProposedAt), &f.DecidedBy, database.ToOptionalTime(&f.DecidedAt),
		&f.Confirmation, database.ToBool(&f.Active))
	return f, err
}

func insertProposal(ctx context.Context, tx *database.Tx, orgID string, f Proposal) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO policy_profile (id, org_id, policy_id, version, owner_id, author_kind, author_id, name, reason, profile, hash, state, proposed_at, decided_by, confirmation)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, '', 0)`,
		f.ID, orgID, f.PolicyID, f.Version, f.OwnerID, string(f.Author.Kind), f.Author.ID, f.Name, f.Reason, f.Text,
		f.Hash, string(f.State), database.Micros(f.ProposedAt))
	return database.Wrap(err, "store a proposal of policy %s", f.PolicyID)
}

// updateProposal writes every column of a proposal that can change.
func updateProposal(ctx context.Context, tx *database.Tx, orgID string, f Proposal) error {
	_, err := tx.Exec(ctx, `
		UPDATE policy_profile
		SET state = $3, decided_by = $4, decided_at = $5, confirmation = $6
		WHERE org_id = $1 AND id = $2`, orgID, f.ID, string(f.State), f.DecidedBy, database.OptionalMicros(f.DecidedAt),
		f.Confirmation)
	return database.Wrap(err, "change proposal %s", f.ID)
}

// closeProposals withdraws the open proposals of a policy that is being deleted, and returns their ids.
func closeProposals(
	ctx context.Context, tx *database.Tx, p principal.Principal, policyID string,
) (closed []string, err error) {
	closed, err = database.Collect(ctx, tx, database.Column[string], `
		UPDATE policy_profile
		SET state = 'withdrawn', decided_by = $3, decided_at = $4
		WHERE org_id = $1 AND policy_id = $2 AND state = 'open'
		RETURNING id`, p.OrgID, policyID, p.UserID, database.Micros(tx.Now()))
	return closed, database.Wrap(err, "withdraw the proposals of policy %s", policyID)
}

// findProposal reads a proposal of an organization. A proposal of another organization is not found.
func findProposal(ctx context.Context, r database.Reader, orgID, id string) (Proposal, error) {
	missing := fault.New(fault.NotFound, "no such proposal")
	if !database.IsID(id) {
		return Proposal{}, missing
	}
	f, err := oneProposal(ctx, r, `f.org_id = $1 AND f.id = $2`, orgID, id)
	if err != nil {
		return Proposal{}, err
	}
	if f == nil {
		return Proposal{}, missing
	}
	return *f, nil
}

// findOpenProposal finds the proposal of a person that still waits, or nil.
func findOpenProposal(ctx context.Context, r database.Reader, orgID, ownerID string) (*Proposal, error) {
	return oneProposal(ctx, r, `f.org_id = $1 AND f.owner_id = $2 AND f.state = 'open'`, orgID, ownerID)
}

// findActiveProfile finds the proposal that is in force, or nil.
func findActiveProfile(ctx context.Context, r database.Reader, orgID string) (*Proposal, error) {
	return oneProposal(ctx, r, `f.org_id = $1 AND p.active_version = f.version AND p.face = 'profile'`, orgID)
}

func oneProposal(ctx context.Context, r database.Reader, where string, args ...any) (*Proposal, error) {
	f, err := scanProposal(r.QueryRow(ctx, `
		SELECT `+proposalColumns+`
		WHERE `+where+`
		ORDER BY f.confirmation DESC, f.proposed_at DESC, f.id DESC
		LIMIT 1`, args...))
	if err != nil {
		return nil, database.OrMissing(err, nil, "read a proposal")
	}
	return &f, nil
}

// findProfilePolicy finds the policy of a person's proposals. The error is sql.ErrNoRows if there is none.
func findProfilePolicy(ctx context.Context, r database.Reader, orgID, ownerID string) (Policy, error) {
	p, err := scanPolicy(r.QueryRow(ctx, `
		SELECT `+columns+`
		FROM policy p
		JOIN policy_profile f ON f.org_id = p.org_id AND f.policy_id = p.id
		WHERE p.org_id = $1 AND f.owner_id = $2 AND p.face = 'profile' AND p.deleted_at IS NULL
		ORDER BY f.proposed_at DESC, f.id DESC
		LIMIT 1`, orgID, ownerID))
	return p, database.Wrap(err, "find the policy of a person's profiles")
}

// selectActiveProfiles reads the profiles that are active: one, or none.
func selectActiveProfiles(ctx context.Context, r database.Reader, orgID string) ([]Policy, error) {
	policies, err := database.Collect(ctx, r, scanPolicy, `
		SELECT `+columns+`
		FROM policy p
		WHERE p.org_id = $1 AND p.face = 'profile' AND p.active_version IS NOT NULL AND p.deleted_at IS NULL`, orgID)
	return policies, database.Wrap(err, "read the active profiles")
}

func lastConfirmation(ctx context.Context, r database.Reader, orgID string) (number int, err error) {
	err = r.QueryRow(ctx, `SELECT COALESCE(MAX(confirmation), 0) FROM policy_profile WHERE org_id = $1`,
		orgID).Scan(&number)
	return number, database.Wrap(err, "count the confirmations")
}

// selectProposals reads up to limit proposals after a position, newest first.
func selectProposals(
	ctx context.Context, r database.Reader, orgID string, state ProposalState, after page.Cursor, limit int,
) ([]Proposal, error) {
	var where database.Where
	where.And(`f.org_id = ?`, orgID)
	if state != "" {
		where.And(`f.state = ?`, string(state))
	}
	if !after.IsZero() {
		where.And(`(f.proposed_at, f.id) < (?, ?)`, after.Micros, after.ID)
	}
	proposals, err := database.Collect(ctx, r, scanProposal, `
		SELECT `+proposalColumns+where.String()+`
		ORDER BY f.proposed_at DESC, f.id DESC
		LIMIT `+where.Bind(limit), where.Args...)
	return proposals, database.Wrap(err, "list proposals")
}
