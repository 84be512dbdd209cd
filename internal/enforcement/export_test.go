package enforcement

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// RecordStep records what is answered about a tool of a plan, as judged by a
// snapshot, and reports whether that was still current.
func (s *Service) RecordStep(
	ctx context.Context, p principal.Principal, at policy.Snapshot, tool string, v verdict.Verdict,
) (current bool, err error) {
	declared := &plan.Declared{
		ID: database.NewID(), Binding: plan.Binding{OrgID: p.OrgID}, Expires: s.db.Now().Add(time.Hour),
		Plan: &plan.Plan{Steps: []plan.Step{{Server: "any", Tool: tool}}},
	}
	j := &judgedStep{call: &call{by: p, id: database.NewID(), request: Request{Tool: tool}}}
	j.call.verifies = true
	j.Decision, j.since, j.plan = refuse(policy.ByDefault, "", "as judged"), at.Version, declared
	j.Verdict, j.steps = v, []int{0}
	var o outcome
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		o, _, err = s.settleSteps(ctx, tx, []*judgedStep{j})
		return err
	})
	return !o.stale, err
}
