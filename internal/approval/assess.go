package approval

import (
	"context"
	"fmt"

	"writ/internal/approval/risk"
	"writ/internal/database"
	"writ/internal/intent/grounding"
)

// assess weighs the risk of a new request, within its transaction, by what its key did
// before. What it reads is bounded, because others wait for the same commit.
func (s *Service) assess(ctx context.Context, tx *database.Tx, r *Request) error {
	past, err := risk.History(ctx, tx, risk.Caller{
		OrgID:   r.OrgID,
		KeyID:   r.KeyID,
		AgentID: r.AgentID,
		Server:  r.Server,
		Tool:    r.Tool,
		At:      tx.Now(),
	})
	if err != nil {
		return fmt.Errorf("assess a request for approval: %w", err)
	}
	class, err := s.classOf(ctx, tx, r)
	if err != nil {
		return err
	}
	facts := risk.Facts{
		Server:    r.Server,
		Tool:      r.Tool,
		Class:     class,
		Arguments: r.Arguments,
		Unseen:    r.Arguments == "" && len(r.Digest) > 0,
		Unstated:  r.Arguments == "" && r.ArgumentsFrom != "",
		Amount:    r.Amount,
		Labels:    r.Labels,
		Plan:      planOf(r),
		At:        tx.Now(),
		Past:      past,
	}
	if facts.Rejected, err = countRejected(ctx, tx, r); err != nil {
		return err
	}
	if facts.Opened, err = countOpened(ctx, tx, r); err != nil {
		return err
	}
	found := risk.Assess(facts)
	r.Risk = Risk{Level: string(found.Level), Score: found.Score}
	for _, reason := range found.Reasons {
		r.Risk.Reasons = append(r.Risk.Reasons, RiskReason(reason))
	}
	return nil
}

// classOf is what is stated about the tool of a request; empty: nothing.
func (s *Service) classOf(ctx context.Context, tx *database.Tx, r *Request) (grounding.Class, error) {
	if s.sources.Class == nil {
		return "", nil
	}
	class, err := s.sources.Class(ctx, tx, r.OrgID, r.Server, r.Tool)
	if err != nil {
		return "", fmt.Errorf("assess a request for approval: %w", err)
	}
	return class, nil
}

// planOf is how the call relates to its plan. A call that a decision judged is within the
// plan it names, else it had been denied, unless its step was added later. Nobody has
// checked the plan that a client names when it asks itself.
func planOf(r *Request) risk.Plan {
	switch {
	case r.Widens:
		return risk.OutsidePlan
	case r.PlanID == "":
		return risk.NoPlan
	case r.Via == ViaDecision, r.Via == ViaStep, r.Via == ViaProxy:
		return risk.WithinPlan
	}
	return risk.PlanUnchecked
}

// maxCounted is how many of an organization's latest requests are counted.
const maxCounted = 200

// countRejected counts the recently rejected requests of a key for a tool.
func countRejected(ctx context.Context, r database.Reader, of *Request) (n int, err error) {
	since := database.Micros(of.CreatedAt.Add(-risk.RejectedWindow))
	err = r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM (
			SELECT key_id, server, tool
			FROM approval_request
			WHERE org_id = $1 AND status = 'rejected' AND created_at > $2
			ORDER BY created_at DESC, id DESC
			LIMIT $3
		) latest
		WHERE key_id = $4 AND server = $5 AND tool = $6`, of.OrgID, since, maxCounted, of.KeyID, of.Server,
		of.Tool).Scan(&n)
	return n, database.Wrap(err, "count rejected requests")
}

// countOpened counts the requests that a key opened recently.
func countOpened(ctx context.Context, r database.Reader, of *Request) (n int, err error) {
	since := database.Micros(of.CreatedAt.Add(-risk.BurstWindow))
	err = r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM (
			SELECT key_id
			FROM approval_request
			WHERE org_id = $1 AND created_at > $2
			ORDER BY created_at DESC, id DESC
			LIMIT $3
		) latest
		WHERE key_id = $4`, of.OrgID, since, maxCounted, of.KeyID).Scan(&n)
	return n, database.Wrap(err, "count opened requests")
}
