package intent

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/intent/plan"
)

// A plan that is declared while another plan of the same session or context is live
// continues it. Its steps that the other plan does not permit are held until a person
// agrees: otherwise a manipulated agent would simply declare what it was manipulated
// to do. Without a session, and with the context that SDKs send by default, a new task
// cannot be distinguished from an old one, and every plan counts as new.

// defaultContext is what SDKs send by default.
const defaultContext = "default"

// continuedTried bounds how many live plans a new one is compared with. Older ones
// permit nothing.
const continuedTried = 20

// widening finds the steps of a new plan that widen the plans it continues.
func (s *Service) widening(ctx context.Context, n *newPlan) error {
	if n.parentID != "" {
		return nil // it is within a registered plan
	}
	if n.ticket != nil {
		return s.compare(ctx, n)
	}
	ids, err := selectContinued(ctx, s.db, n.binding, s.db.Now(), continuedTried)
	if err != nil {
		return err
	}
	var before []*plan.Declared
	for _, id := range ids {
		declared, err := s.readOwn(ctx, n, id)
		if err != nil {
			return err
		}
		if declared.Binding.SameParties(n.binding) {
			before = append(before, declared)
		}
	}
	n.issued.Widened, n.issued.WidenedMay = n.plan.Widening(before), n.plan.WideningMay(before)
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
		found, err := database.Collect(ctx, r, database.Column[string], `
			SELECT id
			FROM plan
			WHERE key_id = $1 AND org_id = $2 AND `+continuity.column+` = $3 AND `+continuity.column+` <> ''
				AND status = 'active' AND expires_at > $4 AND parent_id IS NULL
			ORDER BY created_at DESC, id DESC
			LIMIT $5`, b.KeyID, b.OrgID, continuity.value, database.Micros(now), limit)
		if err != nil {
			return nil, fmt.Errorf("list the plans that a new one continues: %w", err)
		}
		ids = append(ids, found...)
	}
	return ids, nil
}
