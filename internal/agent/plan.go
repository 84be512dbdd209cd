package agent

import (
	"context"

	"writ/internal/audit"
)

// addPlans tells the present plans of agents. Like what was seen, they go by the id that
// clients send. A plan from before a stop of its agent, key or organization has ended.
func (s *Service) addPlans(ctx context.Context, orgID string, agents []Agent) error {
	if s.sources.Plans == nil || len(agents) == 0 {
		return nil
	}
	ids := make([]string, len(agents))
	for i := range agents {
		ids[i] = agents[i].ID
	}
	plans, err := s.sources.Plans(ctx, s.db, orgID, ids)
	if err != nil {
		return err
	}
	for i := range agents {
		a := &agents[i]
		plan, ok := plans[a.ID]
		if !ok {
			continue
		}
		ended, err := s.hasEnded(ctx, orgID, a.ID, plan)
		if err != nil {
			return err
		}
		if !ended {
			a.Plan = &plan
		}
	}
	return nil
}

// hasEnded reports whether the kill switch has ended a plan of an agent.
func (s *Service) hasEnded(ctx context.Context, orgID, agentID string, p Plan) (bool, error) {
	stops, err := concerning(ctx, s.db, orgID, agentID, p.KeyID)
	if err != nil {
		return false, err
	}
	st := stopped(stops)
	if st.All || st.HasPlan(p.ID) {
		return true, nil
	}
	before := endedBefore(stops)
	if before < 0 {
		return false, nil
	}
	declared, err := audit.FirstAbout(ctx, s.db, audit.LogOf(orgID), audit.Subject{Type: "plan", ID: p.ID})
	return declared < before, err
}
