package app

import (
	"context"
	"time"

	"writ/internal/apikey"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// outcomes gives the reports of executions what they need of plans, keys and
// decisions.
type outcomes struct {
	plans *intent.Service
	keys  *apikey.Service
	now   func() time.Time
}

func (o outcomes) sources() execution.Sources {
	return execution.Sources{
		PlanOf:    o.planOf,
		Holder:    o.holder,
		Digest:    o.digest,
		Decisions: decisionsFrom,
		Product:   apikey.ProductOf,
	}
}

// planOf finds a plan by what names it. Whether a token is genuine does not
// matter to who has a key: the report is that key's word in any case.
func (o outcomes) planOf(ctx context.Context, orgID string, shown plan.Presented) (string, error) {
	found, err := o.plans.FindByToken(ctx, shown)
	if err != nil || found == nil || found.Binding.OrgID != orgID {
		return "", err
	}
	return found.ID, nil
}

// holder is the key behind a token. An ended plan may still be reported on, for
// what was done under it is told afterwards; a key that is not good any more
// reports nothing.
func (o outcomes) holder(ctx context.Context, shown plan.Presented) (principal.Principal, error) {
	unknown := fault.New(fault.Unauthenticated, "send an API key, or the token of a plan as it was issued")
	found, err := o.plans.FindByToken(ctx, shown)
	if err != nil {
		return principal.Principal{}, err
	}
	if found == nil || plan.CheckPresented(found, shown, found.Binding, o.now()).Drift == plan.NotGenuine {
		return principal.Principal{}, unknown
	}
	key, err := o.keys.Holder(ctx, found.Binding.KeyID)
	if err != nil {
		return principal.Principal{}, err
	}
	if !key.HasScope(principal.Audit) || key.OrgID != found.Binding.OrgID {
		return principal.Principal{}, unknown
	}
	return key, nil
}

func (o outcomes) digest(ctx context.Context, orgID, canonical string) ([]byte, error) {
	digester, err := o.plans.Digester(ctx, orgID)
	if err != nil {
		return nil, err
	}
	sum := digester.Arguments(canonical)
	return sum[:], nil
}

func decisionsFrom(
	ctx context.Context, r database.Reader, orgID string, from int64, limit int,
) ([]execution.Decision, error) {
	records, err := decision.Read(ctx, r, orgID, from, limit)
	decisions := make([]execution.Decision, len(records))
	for i, d := range records {
		decisions[i] = execution.Decision{
			ID:        d.ID,
			Position:  d.Index,
			At:        d.At,
			Allowed:   d.Verdict == verdict.Allow,
			KeyID:     d.KeyID,
			PlanID:    d.PlanID,
			SessionID: d.SessionID,
			AgentID:   d.AgentID,
			Server:    d.Server,
			Tool:      d.Tool,
			Digest:    d.Digest,
		}
	}
	return decisions, err
}
