package intent

import (
	"context"

	"writ/internal/intent/plan"
	"writ/internal/principal"
)

// SessionState is the state of a guarded session of a key.
func (s *Service) SessionState(ctx context.Context, p principal.Principal, sessionID string) (SessionState, error) {
	if err := requireAgent(p); err != nil {
		return SessionState{}, err
	}
	r, err := Request{SessionID: sessionID}.checked()
	if err != nil {
		return SessionState{}, err
	}
	return s.stateOf(ctx, p, r.SessionID)
}

// TicketState is the state of the session that a ticket is for. It does not use the ticket up.
func (s *Service) TicketState(ctx context.Context, p principal.Principal, text string) (SessionState, error) {
	if err := requireAgent(p); err != nil {
		return SessionState{}, err
	}
	t, err := s.readTicket(ctx, p, text)
	if err != nil {
		return SessionState{}, err
	}
	state, err := s.stateOf(ctx, p, t.Session)
	if err == nil && (state.Turn != t.Turn || state.Ended) {
		return SessionState{}, errOtherTurn()
	}
	return state, err
}

func (s *Service) stateOf(ctx context.Context, p principal.Principal, sessionID string) (SessionState, error) {
	found, err := findSession(ctx, s.db, p, sessionID)
	if err != nil {
		return SessionState{}, err
	}
	if found == nil {
		return SessionState{}, noSuchSession()
	}
	state := SessionState{Session: *found}
	current, err := OfSession(ctx, s.db, p.OrgID, p.KeyID, sessionID)
	if err != nil || current.PlanID == "" || found.Ended {
		return state, err
	}
	d, err := s.read(ctx, s.db, p.OrgID, current.PlanID, s.plans.get(current.PlanID))
	if err != nil || d == nil || d.Status != plan.Active || !s.db.Now().Before(d.Expires) {
		return state, err
	}
	ended, err := s.hasEnded(ctx, s.db, d)
	if err == nil && !ended {
		state.Plan = d
	}
	return state, err
}
