package execution

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// Kind is what does not match.
type Kind string

// The kinds of findings.
const (
	WithoutDecision Kind = "execution_without_decision"
	WithoutOutcome  Kind = "decision_without_outcome"
	SequenceGap     Kind = "sequence_gap"
	OtherArguments  Kind = "execution_with_other_arguments" // than its plan states
	NotConfined     Kind = "execution_not_confined"         // as the decision demands
	KernelRefused   Kind = "refused_by_kernel"              // something that a confined call tried
	OutsideLease    Kind = "execution_outside_lease"        // that its client says it decided by
	LeaseGap        Kind = "lease_gap"                      // calls under a lease that were not reported
	ResultInstructs Kind = "result_with_instructions"       // of a call that the proxy has carried out
	ResultSecret    Kind = "result_with_secret"             // of such a call
)

// KindNames are the kinds of findings.
func KindNames() []string {
	return []string{
		string(WithoutDecision), string(WithoutOutcome), string(SequenceGap), string(OtherArguments),
		string(NotConfined), string(KernelRefused), string(OutsideLease), string(LeaseGap),
		string(ResultInstructs), string(ResultSecret),
	}
}

// Finding is something that does not match. Which members are set depends on its kind.
type Finding struct {
	ID         string
	OrgID      string
	Kind       Kind
	FoundAt    time.Time
	HappenedAt time.Time
	Position   int64 // the entry of the log it is about

	KeyID, AgentID, SessionID, PlanID, Tool string
	DecisionID, ExecutionID                 string

	// Of a gap in a sequence or lease: the missing numbers, and how many of them are still missing.
	FirstSeq, LastSeq, Missing int64

	Detail     string     // what does not match; empty: the kind says it all
	ResolvedAt *time.Time // when what was missing came
}

// FindingFilter chooses findings. An empty member chooses all.
type FindingFilter struct {
	Kind   Kind
	Open   bool // only what is not resolved
	Cursor string
	Limit  int
}

// findingList binds the cursors of the list.
const findingList = "findings"

// Findings is a page of an organization's findings, newest first.
func (s *Service) Findings(ctx context.Context, p principal.Principal, f FindingFilter) (page.Page[Finding], error) {
	if err := p.Require(principal.ReadTelemetry); err != nil {
		return page.Page[Finding]{}, err
	}
	if f.Limit == 0 {
		f.Limit = page.DefaultLimit
	}
	if f.Limit < 0 || f.Limit > page.MaxLimit {
		return page.Page[Finding]{}, fault.Field("limit", "must be from 1 to %d", page.MaxLimit)
	}
	scope := p.OrgID + "/" + string(f.Kind)
	after, err := page.Decode(f.Cursor, findingList, scope)
	if err != nil {
		return page.Page[Finding]{}, err
	}
	var where database.Where
	where.And(`org_id = ?`, p.OrgID)
	if f.Kind != "" {
		where.And(`kind = ?`, string(f.Kind))
	}
	if f.Open {
		where.And(`resolved_at IS NULL`)
	}
	if !after.IsZero() {
		where.And(`(found_at, id) < (?, ?)`, after.Micros, after.ID)
	}
	query := selectFindings + where.String() + `ORDER BY found_at DESC, id DESC LIMIT ` + where.Bind(f.Limit+1)
	findings, err := database.Collect(ctx, s.db, scanFinding, query, where.Args...)
	if err != nil {
		return page.Page[Finding]{}, fmt.Errorf("list findings: %w", err)
	}
	return page.Of(findings, f.Limit, func(x Finding) page.Cursor {
		return page.Cursor{List: findingList, Scope: scope, Micros: database.Micros(x.FoundAt), ID: x.ID}
	}), nil
}

// Finding is one finding of an organization.
func (s *Service) Finding(ctx context.Context, p principal.Principal, id string) (Finding, error) {
	if err := p.Require(principal.ReadTelemetry); err != nil {
		return Finding{}, err
	}
	missing := fault.New(fault.NotFound, "there is no such finding")
	if !database.IsID(id) {
		return Finding{}, missing
	}
	var where database.Where
	where.And(`org_id = ?`, p.OrgID)
	where.And(`id = ?`, id)
	found, err := scanFinding(s.db.QueryRow(ctx, selectFindings+where.String(), where.Args...))
	if errors.Is(err, sql.ErrNoRows) {
		return Finding{}, missing
	}
	if err != nil {
		return Finding{}, fmt.Errorf("read finding %s: %w", id, err)
	}
	return found, nil
}

// Counted is how many findings of a kind there are about a key.
type Counted struct {
	KeyID, Kind string
	Count       int64
}

// CountFound counts the findings of an organization after a time, of some kinds, by key. It checks no right: it is for
// the server itself.
func (s *Service) CountFound(
	ctx context.Context, orgID string, kinds []string, after time.Time,
) (all []Counted, err error) {
	for _, kind := range kinds {
		found, err := database.Collect(ctx, s.db, func(row database.Scanner) (c Counted, err error) {
			c.Kind = kind
			err = row.Scan(&c.KeyID, &c.Count)
			return c, err
		}, `
			SELECT key_id, COUNT(*) FROM finding
			WHERE org_id = $1 AND kind = $2 AND found_at > $3
			GROUP BY key_id
			ORDER BY key_id`, orgID, kind, database.Micros(after))
		if err != nil {
			return nil, fmt.Errorf("count the findings of organization %s: %w", orgID, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

const selectFindings = `
	SELECT id, org_id, kind, found_at, happened_at, position, key_id, agent_id, session_id, plan_id, tool, decision_id, execution_id,
		first_seq, last_seq, missing, detail, resolved_at
	FROM finding`

func scanFinding(row database.Scanner) (f Finding, err error) {
	err = row.Scan(&f.ID, &f.OrgID, &f.Kind, database.ToTime(&f.FoundAt), database.ToTime(&f.HappenedAt), &f.Position,
		&f.KeyID, &f.AgentID, &f.SessionID, &f.PlanID, &f.Tool, &f.DecisionID, &f.ExecutionID, &f.FirstSeq,
		&f.LastSeq, &f.Missing, &f.Detail, database.ToOptionalTime(&f.ResolvedAt))
	return f, err
}

func insertFinding(ctx context.Context, tx *database.Tx, f Finding) error {
	_, err := tx.Prepared().Exec(ctx, `
		INSERT INTO finding (id, org_id, kind, found_at, happened_at, position, key_id, agent_id, session_id, plan_id, tool,
			decision_id, execution_id, first_seq, last_seq, missing, detail)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		database.NewID(), f.OrgID, string(f.Kind), database.Micros(tx.Now()), database.Micros(f.HappenedAt), f.Position,
		f.KeyID, f.AgentID, f.SessionID, f.PlanID, f.Tool, f.DecisionID, f.ExecutionID, f.FirstSeq, f.LastSeq,
		f.Missing, f.Detail)
	return database.Wrap(err, "store a finding")
}

// resolveOutcome notes that the outcome of a decision came.
func resolveOutcome(ctx context.Context, tx *database.Tx, orgID, decisionID string) error {
	_, err := tx.Exec(ctx, `
		UPDATE finding
		SET resolved_at = $3
		WHERE org_id = $1 AND decision_id = $2 AND kind = 'decision_without_outcome' AND resolved_at IS NULL`,
		orgID, decisionID, database.Micros(tx.Now()))
	return err
}
