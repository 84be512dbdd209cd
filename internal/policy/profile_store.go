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
	"writ/internal/principal"
)

func storeDraft(ctx context.Context, tx *database.Tx, p principal.Principal, staged StagedProfile) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO policy_profile_draft (org_id, owner_id, name, profile, hash, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (org_id, owner_id) DO UPDATE
		SET name = excluded.name, profile = excluded.profile, hash = excluded.hash, updated_at = excluded.updated_at`,
		p.OrgID, p.UserID, staged.Name, staged.Text, staged.Hash, database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("store a staged profile: %w", err)
	}
	return nil
}

// findDraft reads what a person has staged.
func findDraft(ctx context.Context, r database.Reader, orgID, ownerID string) (staged StagedProfile, err error) {
	err = r.QueryRow(ctx, `
		SELECT name, profile, hash
		FROM policy_profile_draft
		WHERE org_id = $1 AND owner_id = $2`, orgID, ownerID).Scan(&staged.Name, &staged.Text, &staged.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return StagedProfile{}, fault.New(fault.Conflict,
			"nothing is staged: send a profile first (PUT /policies/profiles/draft)")
	}
	if err != nil {
		return StagedProfile{}, fmt.Errorf("read a staged profile: %w", err)
	}
	return staged, nil
}

// proposalColumns are those scanProposal reads, of policy_profile as f and its
// policy as p. What is left of a proposal whose policy was deleted is not shown.
const proposalColumns = `
	f.id, f.policy_id, f.version, f.owner_id, f.author_kind, f.author_id, f.name, f.reason, f.profile, f.hash,
	f.state, f.proposed_at, f.decided_by, f.decided_at, f.confirmation,
	CASE WHEN p.active_version = f.version THEN 1 ELSE 0 END
	FROM policy_profile f
	JOIN policy p ON p.org_id = f.org_id AND p.id = f.policy_id AND p.deleted_at IS NULL`

func scanProposal(s database.Scanner) (f Proposal, err error) {
	var proposed, active int64
	var decided sql.NullInt64
	err = s.Scan(&f.ID, &f.PolicyID, &f.Version, &f.OwnerID, &f.Author.Kind, &f.Author.ID, &f.Name, &f.Reason, &f.Text,
		&f.Hash,
		&f.State, &proposed, &f.DecidedBy, &decided, &f.Confirmation, &active)
	f.ProposedAt, f.DecidedAt, f.Active = database.Time(proposed), database.OptionalTime(decided), active == 1
	return f, err
}

func insertProposal(ctx context.Context, tx *database.Tx, orgID string, f Proposal) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO policy_profile (id, org_id, policy_id, version, owner_id, author_kind, author_id, name, reason, profile, hash, state, proposed_at, decided_by, confirmation)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, '', 0)`,
		f.ID, orgID, f.PolicyID, f.Version, f.OwnerID, string(f.Author.Kind), f.Author.ID, f.Name, f.Reason, f.Text,
		f.Hash,
		string(f.State), database.Micros(f.ProposedAt))
	if err != nil {
		return fmt.Errorf("store a proposal of policy %s: %w", f.PolicyID, err)
	}
	return nil
}

// updateProposal writes everything of a proposal that changes.
func updateProposal(ctx context.Context, tx *database.Tx, orgID string, f Proposal) error {
	_, err := tx.Exec(ctx, `
		UPDATE policy_profile
		SET state = $3, decided_by = $4, decided_at = $5, confirmation = $6
		WHERE org_id = $1 AND id = $2`, orgID, f.ID, string(f.State), f.DecidedBy, database.OptionalMicros(f.DecidedAt),
		f.Confirmation)
	if err != nil {
		return fmt.Errorf("change proposal %s: %w", f.ID, err)
	}
	return nil
}

// closeProposals withdraws what waits of a policy that is deleted, and gives the ids.
func closeProposals(
	ctx context.Context, tx *database.Tx, p principal.Principal, policyID string,
) (closed []string, err error) {
	closed, err = database.Collect(ctx, tx, func(s database.Scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `
		UPDATE policy_profile
		SET state = 'withdrawn', decided_by = $3, decided_at = $4
		WHERE org_id = $1 AND policy_id = $2 AND state = 'open'
		RETURNING id`, p.OrgID, policyID, p.UserID, database.Micros(tx.Now()))
	if err != nil {
		return nil, fmt.Errorf("withdraw the proposals of policy %s: %w", policyID, err)
	}
	return closed, nil
}

// findProposal reads a proposal of an organization. Any other does not exist.
func findProposal(ctx context.Context, r database.Reader, orgID, id string) (Proposal, error) {
	missing := fault.New(fault.NotFound, "no such proposal")
	if !database.IsID(id) {
		return Proposal{}, missing
	}
	f, err := oneProposal(ctx, r, `f.org_id = $1 AND f.id = $2`, orgID, id)
	if f == nil && err == nil {
		return Proposal{}, missing
	}
	if err != nil {
		return Proposal{}, err
	}
	return *f, nil
}

// findOpenProposal is what a person has proposed and nobody has answered, or nil.
func findOpenProposal(ctx context.Context, r database.Reader, orgID, ownerID string) (*Proposal, error) {
	return oneProposal(ctx, r, `f.org_id = $1 AND f.owner_id = $2 AND f.state = 'open'`, orgID, ownerID)
}

// findActiveProfile is the proposal that calls are judged by, or nil.
func findActiveProfile(ctx context.Context, r database.Reader, orgID string) (*Proposal, error) {
	return oneProposal(ctx, r, `f.org_id = $1 AND p.active_version = f.version AND p.face = 'profile'`, orgID)
}

func oneProposal(ctx context.Context, r database.Reader, where string, args ...any) (*Proposal, error) {
	f, err := scanProposal(r.QueryRow(ctx, `
		SELECT `+proposalColumns+`
		WHERE `+where+`
		ORDER BY f.confirmation DESC, f.proposed_at DESC, f.id DESC
		LIMIT 1`, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a proposal: %w", err)
	}
	return &f, nil
}

// findProfilePolicy is the policy of a person's proposals. It is sql.ErrNoRows
// where there is none.
func findProfilePolicy(ctx context.Context, r database.Reader, orgID, ownerID string) (Policy, error) {
	p, err := scanPolicy(r.QueryRow(ctx, `
		SELECT `+columns+`
		FROM policy p
		JOIN policy_profile f ON f.org_id = p.org_id AND f.policy_id = p.id
		WHERE p.org_id = $1 AND f.owner_id = $2 AND p.face = 'profile' AND p.deleted_at IS NULL
		ORDER BY f.proposed_at DESC, f.id DESC
		LIMIT 1`, orgID, ownerID))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Policy{}, fmt.Errorf("look for the policy of a person's profiles: %w", err)
	}
	return p, err
}

// selectActiveProfiles reads the profiles that count: one, or none.
func selectActiveProfiles(ctx context.Context, r database.Reader, orgID string) ([]Policy, error) {
	policies, err := database.Collect(ctx, r, scanPolicy, `
		SELECT `+columns+`
		FROM policy p
		WHERE p.org_id = $1 AND p.face = 'profile' AND p.active_version IS NOT NULL AND p.deleted_at IS NULL`, orgID)
	if err != nil {
		return nil, fmt.Errorf("read the active profiles: %w", err)
	}
	return policies, nil
}

func lastConfirmation(ctx context.Context, r database.Reader, orgID string) (number int, err error) {
	err = r.QueryRow(ctx, `SELECT COALESCE(MAX(confirmation), 0) FROM policy_profile WHERE org_id = $1`,
		orgID).Scan(&number)
	if err != nil {
		return 0, fmt.Errorf("count the confirmations: %w", err)
	}
	return number, nil
}

// selectProposals reads up to limit proposals after a position, newest first.
func selectProposals(
	ctx context.Context, r database.Reader, orgID string, state ProposalState, after page.Cursor, limit int,
) ([]Proposal, error) {
	where, args := []string{`f.org_id = $1`}, []any{orgID}
	if state != "" {
		args = append(args, string(state))
		where = append(where, fmt.Sprintf(`f.state = $%d`, len(args)))
	}
	if !after.IsZero() {
		args = append(args, after.Micros, after.ID)
		where = append(where, fmt.Sprintf(`(f.proposed_at, f.id) < ($%d, $%d)`, len(args)-1, len(args)))
	}
	args = append(args, limit)
	proposals, err := database.Collect(ctx, r, scanProposal, `
		SELECT `+proposalColumns+`
		WHERE `+strings.Join(where, ` AND `)+`
		ORDER BY f.proposed_at DESC, f.id DESC
		LIMIT `+fmt.Sprintf(`$%d`, len(args)), args...)
	if err != nil {
		return nil, fmt.Errorf("list proposals: %w", err)
	}
	return proposals, nil
}
