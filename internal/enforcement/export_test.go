package enforcement

import (
	"context"

	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/principal"
)

// RecordStep records what is answered about a tool of a plan, as judged by a
// snapshot, and reports whether that was still current.
func (s *Service) RecordStep(
	ctx context.Context, p principal.Principal, at policy.Snapshot, tool string, a Answer,
) (current bool, err error) {
	v := &view{policies: at, plan: &plan.Declared{ID: a.PlanID}}
	done, err := s.recordStep(ctx, &call{by: p, request: Request{Tool: tool}}, v, a)
	return !done.stale, err
}
