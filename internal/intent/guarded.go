package intent

import (
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/grounding"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/principal"
)

// A guarded session is a session of a coding agent whose hooks tell the server of every turn:
// of everything that the person asks. Its calls need a plan, and a plan belongs to the turn
// that it was registered in. A session is guarded from the first time that anybody opens it,
// and stays so: nobody who has the key can make it an ordinary one again.

// Audit actions of guarded sessions.
const (
	ActionSessionOpened    = "session.opened"
	ActionTurnOpened       = "session.turn_opened"
	ActionSessionPlanEnded = "session.plan_ended"
	ActionSessionEnded     = "session.ended"
)

// TurnRequest opens a turn of a guarded session.
type TurnRequest struct {
	SessionID, AgentID string
	Prompt             string // what the person typed
	Text               string // what came along
	Carry              bool   // keep the plans of the turn before
}

// Session is a guarded session.
type Session struct {
	ID, AgentID string
	Turn        int64 // from 1; 0: before the first
	Since       int64 // plans of this turn and of later ones count
	Ended       bool  // until the next turn nothing runs
}

// SessionState is a guarded session and what it may do now.
type SessionState struct {
	Session
	Plan *plan.Declared // the live one that calls are judged by; nil: none

	Carried, PromptKept bool // of a new turn
}

// OpenSession makes a session a guarded one. It changes nothing of one that is guarded already.
func (s *Service) OpenSession(ctx context.Context, p principal.Principal, id, agentID string) (SessionState, error) {
	return s.changeSession(ctx, p, id, agentID, func(ctx context.Context, tx *database.Tx, g *guarded) error {
		return g.record(ctx, tx, s.log, ActionSessionOpened, map[string]any{"turn": g.Turn})
	})
}

// OpenTurn opens the next turn of a session, which it makes a guarded one. The plans of the turn before end, unless
// they are carried over. What the person typed is stored as by Prompt.
func (s *Service) OpenTurn(ctx context.Context, p principal.Principal, r TurnRequest) (SessionState, error) {
	kept, carried := false, false
	state, err := s.changeSession(ctx, p, r.SessionID, r.AgentID, func(
		ctx context.Context, tx *database.Tx, g *guarded,
	) (err error) {
		g.Turn, g.Ended = g.Turn+1, false
		if carried, err = g.carry(ctx, tx, r.Carry); err != nil {
			return err
		}
		err = g.record(ctx, tx, s.log, ActionTurnOpened, map[string]any{
			"turn": g.Turn, "carried": carried, "promptBytes": len(r.Prompt), "textBytes": len(r.Text),
		})
		if err == nil {
			kept, err = s.hear(ctx, tx, g, r)
		}
		return err
	})
	state.Carried, state.PromptKept = carried, kept
	return state, err
}

// carry keeps the live plans for a new turn, if there are any and it is wanted. Else it ends them.
func (g *guarded) carry(ctx context.Context, tx *database.Tx, wanted bool) (bool, error) {
	live, err := g.livePlans(ctx, tx)
	if err != nil || wanted && len(live) > 0 {
		return err == nil, err
	}
	g.Since = g.Turn
	return false, g.endPlans(ctx, tx)
}

// EndSession ends a session with its plans. The next turn opens it again.
func (s *Service) EndSession(ctx context.Context, p principal.Principal, id string) (SessionState, error) {
	return s.changeSession(ctx, p, id, "", func(ctx context.Context, tx *database.Tx, g *guarded) error {
		if !g.known {
			return noSuchSession()
		}
		g.Ended = true
		if err := g.endPlans(ctx, tx); err != nil {
			return err
		}
		return g.record(ctx, tx, s.log, ActionSessionEnded, map[string]any{"turn": g.Turn})
	})
}

// EndSessionPlan ends the plans of the turn that a ticket is for, which it uses up. They still count for what later
// plans of the turn are compared with.
func (s *Service) EndSessionPlan(ctx context.Context, p principal.Principal, text string) (SessionState, error) {
	t, err := s.readTicket(ctx, p, text)
	if err != nil {
		return SessionState{}, err
	}
	return s.changeSession(ctx, p, t.Session, "", func(ctx context.Context, tx *database.Tx, g *guarded) error {
		if err := g.use(ctx, tx, t); err != nil {
			return err
		}
		if err := g.endPlans(ctx, tx); err != nil {
			return err
		}
		return g.record(ctx, tx, s.log, ActionSessionPlanEnded, map[string]any{"turn": g.Turn})
	})
}

// guarded is a guarded session that is being changed.
type guarded struct {
	Session
	by       principal.Principal
	known    bool     // it was guarded before
	ended    []string // plans
	position int64    // of the entry in the log
}

// changeSession changes a guarded session, which it makes if there is none.
func (s *Service) changeSession(
	ctx context.Context, p principal.Principal, id, agentID string,
	change func(ctx context.Context, tx *database.Tx, g *guarded) error,
) (SessionState, error) {
	if err := requireAgent(p); err != nil {
		return SessionState{}, err
	}
	r, err := Request{SessionID: id, AgentID: agentID}.checked()
	if err != nil {
		return SessionState{}, err
	}
	if r.SessionID == "" {
		return SessionState{}, fault.Field("session_id", "must be the host's id of the session")
	}
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		found, err := findSession(ctx, tx, p, r.SessionID)
		if err != nil {
			return err
		}
		g := &guarded{Session: Session{ID: r.SessionID, AgentID: r.AgentID}, by: p}
		if found != nil {
			g.Session, g.known = *found, true
		}
		if r.AgentID != "" && r.AgentID != g.AgentID {
			return fault.New(fault.Conflict, "this session belongs to another agent: use another session_id")
		}
		if err := change(ctx, tx, g); err != nil {
			return err
		}
		return storeSession(ctx, tx, g)
	}})
	if err != nil {
		return SessionState{}, err
	}
	return s.stateOf(ctx, p, r.SessionID)
}

// shownPlans is how many ended plans an entry names.
const shownPlans = 50

// record appends an entry about the session. Where plans have ended, it makes what is cached of them stale.
func (g *guarded) record(
	ctx context.Context, tx *database.Tx, log *audit.Log, action string, payload map[string]any,
) error {
	payload["sessionId"], payload["agentId"] = g.ID, g.AgentID
	if len(g.ended) > 0 {
		payload["endedPlans"] = g.ended[:min(len(g.ended), shownPlans)]
		payload["endedPlanCount"] = len(g.ended)
	}
	added, err := log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(g.by.OrgID),
		Action:      action,
		Actor:       g.by,
		Subject:     audit.Subject{Type: "session", ID: g.scope().ID()},
		Observation: len(g.ended) == 0,
		Payload:     payload,
	})
	if err == nil {
		g.position = added.Index
	}
	return err
}

// scope is what is known of the session.
func (g *guarded) scope() scope.Key {
	return ScopeOf(plan.Binding{OrgID: g.by.OrgID, KeyID: g.by.KeyID, AgentID: g.AgentID, Session: g.ID})
}

// hear stores what the person typed and what came along. A prompt that is too long is not stored, and grounds nothing;
// a text that is too long is an unknown output, beside which nothing is grounded. Neither keeps a person from working.
func (s *Service) hear(ctx context.Context, tx *database.Tx, g *guarded, r TurnRequest) (kept bool, err error) {
	if r.Prompt != "" && len(r.Prompt) <= grounding.MaxPrompt {
		err = s.scopes.Say(ctx, tx, g.scope(), "", r.Prompt, g.position)
		kept = err == nil
		if fault.Is(err, fault.TooLarge) {
			err = nil
		}
	}
	switch {
	case err != nil || r.Text == "":
	case len(r.Text) <= grounding.MaxBytes:
		err = s.scopes.Show(ctx, tx, g.scope(), r.Text, g.position)
	default:
		err = s.scopes.Allow(ctx, tx, g.scope(), scope.Call{
			DecisionID: database.NewID(), Tool: "prompt", Class: grounding.Write, Position: g.position,
		})
	}
	return kept && err == nil, err
}
