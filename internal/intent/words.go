package intent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/wordindex"
)

// planWords is what the index of words calls plans.
const planWords = "plan"

// IndexWords gives plans that were declared, or whose text was erased, their words.
func (s *Service) IndexWords(ctx context.Context) error {
	return wordindex.Work(ctx, s.db, planWords, readWords)
}

// readWords reads what a plan is found by. The goal is a payload: see viewFor.
func readWords(ctx context.Context, r database.Reader, orgID, id string) (*wordindex.Text, error) {
	var goal, agent, email, source string
	err := r.QueryRow(ctx, `SELECT goal, agent_id, email, source FROM plan WHERE id = $1 AND org_id = $2`, id, orgID).Scan(
		&goal, &agent, &email, &source)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &wordindex.Text{
		Words:    wordindex.Words(wordindex.MaxWords, agent, email, source),
		Payloads: wordindex.Words(wordindex.MaxWords, goal),
	}, database.Wrap(err, "read the words of plan %s", id)
}

// reindexWords has the words of a plan whose text changed forgotten, and read again.
func reindexWords(ctx context.Context, tx *database.Tx, orgID, id string) error {
	var made time.Time
	err := tx.QueryRow(ctx, `SELECT created_at FROM plan WHERE id = $1 AND org_id = $2`, id, orgID).Scan(
		database.ToTime(&made))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read when plan %s was declared: %w", id, err)
	}
	return wordindex.Forget(ctx, tx, orgID, planWords, id, made)
}

// FoundPlan is a plan that words have found. Those that were declared at the same time are in the order of their
// numbers.
type FoundPlan struct {
	View
	Number int64
}

// Search finds plans of the caller's organization by words, declared at a time or before, newest first. Words of goals
// match only for those who may read them.
func (s *Service) Search(
	ctx context.Context, p principal.Principal, q wordindex.Query, until time.Time, limit int,
) (plans []FoundPlan, err error) {
	if p.Kind != principal.User {
		return nil, fault.New(fault.Forbidden, "only a person may search plans")
	}
	if err := requireReader(p); err != nil {
		return nil, err
	}
	q.Payloads = readsPayloads(p)
	found, err := wordindex.FindThings(ctx, s.db, p.OrgID, planWords, q, wordindex.Before(until), limit)
	if err != nil {
		return nil, fmt.Errorf("search plans: %w", err)
	}
	for _, f := range found {
		row, err := selectPlan(ctx, s.db, p.OrgID, f.ID)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		view := row.viewFor(p, s.db.Now())
		if err := s.complete(ctx, p.OrgID, &view); err != nil {
			return nil, err
		}
		plans = append(plans, FoundPlan{view, f.Number})
	}
	return plans, nil
}

// Indexing reports whether plans of an organization wait to be indexed.
func (s *Service) Indexing(ctx context.Context, orgID string) (bool, error) {
	return wordindex.Waits(ctx, s.db, orgID, planWords)
}
