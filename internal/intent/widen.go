package intent

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/intent/plan"
)

// A plan that is declared while another of the same session or context is under
// way goes on from it. Its steps that the other does not permit are held until a
// person agrees, or an agent that was led astray would simply declare what it was
// told to do. Where no session is stated, and the context is the one that SDKs send
// by default, nobody can tell a new task from an old one: there every plan is new.

// defaultContext is what SDKs send that were given none.
const defaultContext = "default"

// continuedTried bounds how many live plans a new one is compared with. With more,
// the oldest permit nothing.
const continuedTried = 20

// widening finds the steps of a new plan that widen those it goes on from.
func (s *Service) widening(ctx context.Context, n *newPlan) error {
	if n.parentID != "" {
		return nil // it is within a registered plan
	}
	ids, err := selectContinued(ctx, s.db, n.binding, s.db.Now(), continuedTried)
	if err != nil {
		return err
	}
	var before []*plan.Declared
	for _, id := range ids {
		row, err := selectPlan(ctx, s.db, n.binding.OrgID, id)
		if err != nil {
			return err
		}
		declared, err := s.declared(row)
		if err != nil {
			return err
		}
		if declared.Binding.SameParties(n.binding) {
			before = append(before, declared)
		}
	}
	n.widened = n.plan.Widening(before)
	return nil
}

// selectContinued lists the live plans of a key in the same session or context,
// newest first.
func selectContinued(
	ctx context.Context, r database.Reader, b plan.Binding, now time.Time, limit int,
) ([]string, error) {
	ids := []string{}
	for _, continuity := range []struct{ column, value string }{{"session_id", b.Session}, {"context_id", b.Context}} {
		if continuity.value == "" || continuity.column == "context_id" && continuity.value == defaultContext {
			continue
		}
		found, err := database.Collect(ctx, r, func(s database.Scanner) (id string, err error) {
			err = s.Scan(&id)
			return id, err
		}, `
			SELECT id
			FROM plan
			WHERE key_id = $1 AND org_id = $2 AND `+continuity.column+` = $3 AND `+continuity.column+` <> ''
				AND status = 'active' AND expires_at > $4 AND parent_id IS NULL
			ORDER BY created_at DESC, id DESC
			LIMIT $5`, b.KeyID, b.OrgID, continuity.value, database.Micros(now), limit)
		if err != nil {
			return nil, fmt.Errorf("list the plans that a new one goes on from: %w", err)
		}
		ids = append(ids, found...)
	}
	return ids, nil
}
