package agent

import "context"

// addPlans tells the present plans of agents. Like what was seen, they go by the id that
// clients send. A plan from before a stop of its agent, key or organization has ended.
func (s *Service) addPlans(ctx context.Context, orgID string, agents []Agent) error {
	if s.sources.Plans == nil || len(agents) == 0 {
		return nil
	}
	plans, err := s.sources.Plans(ctx, s.db, orgID, idsOf(agents))
	if err != nil {
		return err
	}
	for i := range agents {
		a := &agents[i]
		plan, ok := plans[a.ID]
		if !ok {
			continue
		}
		ended, err := PlanEnded(ctx, s.db, orgID, a.ID, plan.KeyID, plan.ID)
		if err != nil {
			return err
		}
		if !ended {
			a.Plan = &plan
		}
	}
	return nil
}
