package approval

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/names"
)

// FindForStep is the request that applies to a step of a plan, within the transaction of its decision; nil: there is
// none. It is never one that was opened for a call, nor a standing approval.
func (s *Service) FindForStep(
	ctx context.Context, tx *database.Tx, call Call, want Requirement, argumentsFrom string,
) (*Request, error) {
	if call.PlanID == "" || call.Step < 0 {
		return nil, fmt.Errorf("find an approval of %s.%s: it is no step of a plan", call.Server, call.Tool)
	}
	if err := requireLog(tx, "find an approval", call.OrgID); err != nil {
		return nil, err
	}
	requests, err := selectForStep(ctx, tx, call, want, argumentsFrom)
	if err != nil {
		return nil, err
	}
	if requests, err = stillValid(ctx, tx, s.sources.Role, requests); err != nil {
		return nil, err
	}
	requests = slices.DeleteFunc(requests, func(r Request) bool {
		return r.isEnded(call.Since) || r.Status != Rejected && r.isEnded(call.PlanSince)
	})
	return decisive(requests, tx.Now()), nil
}

// selectForStep reads the latest requests for a step. An approval is for the rule and its approvers; a rejection holds
// for the step whichever rule asks.
func selectForStep(
	ctx context.Context, tx *database.Tx, c Call, w Requirement, argumentsFrom string,
) ([]Request, error) {
	requests, err := database.Collect(ctx, tx, scanRequest, `SELECT `+columns+tables+`
		WHERE r.key_id = $1 AND r.tool = $2 AND r.digest = $3 AND r.created_at > $4 AND r.requested_via = 'step'
			AND r.org_id = $5 AND r.server = $6 AND r.plan_id = $7 AND r.step = $8
			AND (r.status = 'rejected' OR r.status IN ('pending', 'approved')
				AND r.kind = $9 AND r.role = $10 AND r.needed = $11 AND r.policy_id = $12 AND r.rule = $13
				AND r.arguments_from = $14)
		ORDER BY r.created_at DESC, r.id DESC
		LIMIT $15`,
		c.KeyID, c.Tool, []byte{}, database.Micros(oldest(tx.Now())), c.OrgID, c.Server, c.PlanID, c.Step,
		string(w.Kind), w.role(), w.needed(), w.PolicyID, w.Rule, argumentsFrom, maxFound)
	return requests, database.Wrap(err, "find an approval of a step")
}

// Where arguments are from that nobody has seen, as package decision writes it.
const (
	fromPlan    = "plan"
	fromNowhere = "unknown"
)

// stepWords say what an approval permits whose call nobody has seen.
func (r *Request) stepWords(tool string) string {
	which := "with any arguments: nobody has seen them"
	if r.ArgumentsFrom == fromPlan {
		which = "with the arguments that the plan states: nobody has seen those of the call"
	}
	return fmt.Sprintf("One call of %s, for step %d of the plan %s, within %s, %s.",
		tool, r.Step, names.Quoted(r.PlanID), lasting(r.GrantLife()), which)
}
