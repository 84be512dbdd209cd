package decisions

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/principal"
)

func (h *Handlers) mountSessions(r *route.Router) {
	hooks := func(rt route.Route) route.Route { return rt.For(route.Key).Scoped(principal.Enforce).Configures() }
	route.Handle(r, hooks(route.Post("/iap/session/open",
		"Guard a session: from now on its calls need a plan of the present turn")).
		Records(intent.ActionSessionOpened).Answers(http.StatusCreated), h.openSession)
	route.Handle(r, hooks(route.Post("/iap/session/turn",
		"Open the next turn of a guarded session, with what the person typed; the plans of the turn before end")).
		Records(intent.ActionTurnOpened).Answers(http.StatusCreated), h.openTurn)
	route.Handle(r, hooks(route.Post("/iap/session/ticket",
		"A ticket for the present turn of a guarded session, with which one plan is registered")).
		Unrecorded().Answers(http.StatusCreated), h.giveTicket)
	route.Handle(r, hooks(route.Post("/iap/session/state", "The state of a guarded session: its turn, plan and tools")).
		Unrecorded(), h.sessionState)
	route.Handle(r, hooks(route.Post("/iap/session/plan/end", "End the plans of the turn that a ticket is for")).
		StoppedToo().Records(intent.ActionSessionPlanEnded), h.endSessionPlan)
	route.Handle(r, hooks(route.Post("/iap/session/end", "End a guarded session and its plans")).
		StoppedToo().Records(intent.ActionSessionEnded), h.endSession)
}

// SessionStateBody is what is known of a guarded session.
type SessionStateBody struct {
	SessionID      string            `json:"sessionId"`
	AgentID        string            `json:"agentId" doc:"Empty: not stated."`
	Turn           int64             `json:"turn" doc:"From 1; 0: none was opened yet."`
	Ended          bool              `json:"ended" doc:"Until the next turn nothing runs."`
	PlanID         string            `json:"planId" doc:"The live plan that calls are judged by; empty: none."`
	PlanGoal       string            `json:"planGoal" doc:"Its goal."`
	PlanExpiresAt  *time.Time        `json:"planExpiresAt" doc:"Null: there is no live plan."`
	Tools          []PlannedToolBody `json:"tools" nullable:"false" doc:"The tools of the plan, each once."`
	MonitorAllowed bool              `json:"monitorAllowed" doc:"Whether the organization permits hooks to log instead of deny."`
	Carried        bool              `json:"carried" doc:"Of a new turn: the plans of the turn before still count."`
	PromptKept     bool              `json:"promptKept" doc:"Of a new turn: calls are grounded in the prompt, which was not too long."`
}

// PlannedToolBody is a tool of a plan.
type PlannedToolBody struct {
	Action string `json:"action" doc:"As the plan writes it."`
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// stateBody is the answer about a session.
func (h *Handlers) stateBody(
	ctx context.Context, caller principal.Principal, s intent.SessionState, err error,
) (SessionStateBody, error) {
	if err != nil {
		return SessionStateBody{}, err
	}
	settings, err := h.Enforcement.Settings(ctx, caller.OrgID)
	body := SessionStateBody{
		SessionID:      s.ID,
		AgentID:        s.AgentID,
		Turn:           s.Turn,
		Ended:          s.Ended,
		Tools:          []PlannedToolBody{},
		MonitorAllowed: err == nil && settings.AllowMonitor,
		Carried:        s.Carried,
		PromptKept:     s.PromptKept,
	}
	if s.Plan == nil {
		return body, err
	}
	body.PlanID, body.PlanGoal, body.PlanExpiresAt = s.Plan.ID, s.Plan.Plan.Goal, &s.Plan.Expires
	known := map[PlannedToolBody]bool{}
	for i := range s.Plan.Plan.Steps {
		step := &s.Plan.Plan.Steps[i]
		tool := PlannedToolBody{Action: step.Action, Server: step.Server, Tool: step.Tool}
		if !known[tool] {
			known[tool] = true
			body.Tools = append(body.Tools, tool)
		}
	}
	return body, err
}

type openSessionInput struct {
	Body struct {
		SessionID string `json:"session_id" minLength:"1" maxLength:"200" doc:"The host's id of the session."`
		AgentID   string `json:"agent_id,omitempty" maxLength:"200"`
	}
}

func (h *Handlers) openSession(
	ctx context.Context, caller principal.Principal, in *openSessionInput,
) (SessionStateBody, error) {
	state, err := h.Intent.OpenSession(ctx, caller, in.Body.SessionID, in.Body.AgentID)
	return h.stateBody(ctx, caller, state, err)
}

type openTurnInput struct {
	Body struct {
		SessionID string `json:"session_id" minLength:"1" maxLength:"200" doc:"The host's id of the session."`
		AgentID   string `json:"agent_id,omitempty" maxLength:"200"`
		Prompt    string `json:"prompt,omitempty" doc:"What the person typed, and nothing else. Beyond 64 KiB, or 256 KiB a session, it is not kept."`
		Text      string `json:"text,omitempty" doc:"What came along and the person did not type, such as an attached file. It counts as text that a tool returned; beyond 512 KiB, as unknown text."`
		CarryPlan bool   `json:"carry_plan,omitempty" doc:"Keep the plans of the turn before, if the organization permits it (carryPlans)."`
	}
}

func (h *Handlers) openTurn(
	ctx context.Context, caller principal.Principal, in *openTurnInput,
) (SessionStateBody, error) {
	b := &in.Body
	r := intent.TurnRequest{SessionID: b.SessionID, AgentID: b.AgentID, Prompt: b.Prompt, Text: b.Text}
	if b.CarryPlan && caller.OrgID != "" {
		settings, err := h.Enforcement.Settings(ctx, caller.OrgID)
		if err != nil {
			return SessionStateBody{}, err
		}
		r.Carry = settings.CarryPlans
	}
	state, err := h.Intent.OpenTurn(ctx, caller, r)
	return h.stateBody(ctx, caller, state, err)
}

type ticketInput struct {
	Body struct {
		SessionID string `json:"session_id" minLength:"1" maxLength:"200"`
		Turn      int64  `json:"turn" minimum:"1" doc:"The turn, as POST /iap/session/turn answered. Another than the present one is refused."`
	}
}

// TicketBody is a ticket.
type TicketBody struct {
	Ticket    string    `json:"ticket" doc:"For session_ticket of POST /iap/sdk/token. It counts once."`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (h *Handlers) giveTicket(
	ctx context.Context, caller principal.Principal, in *ticketInput,
) (TicketBody, error) {
	text, expires, err := h.Intent.Ticket(ctx, caller, in.Body.SessionID, in.Body.Turn)
	return TicketBody{Ticket: text, ExpiresAt: expires}, err
}

type sessionStateInput struct {
	Body struct {
		SessionID string `json:"session_id,omitempty" maxLength:"200"`
		Ticket    string `json:"session_ticket,omitempty" maxLength:"4096" doc:"In place of session_id. It is not used up."`
	}
}

func (h *Handlers) sessionState(
	ctx context.Context, caller principal.Principal, in *sessionStateInput,
) (SessionStateBody, error) {
	var state intent.SessionState
	var err error
	switch b := &in.Body; {
	case (b.SessionID == "") == (b.Ticket == ""):
		err = fault.Field("session_id", "must be stated, or session_ticket in its place")
	case b.Ticket != "":
		state, err = h.Intent.TicketState(ctx, caller, b.Ticket)
	default:
		state, err = h.Intent.SessionState(ctx, caller, b.SessionID)
	}
	return h.stateBody(ctx, caller, state, err)
}

type endSessionPlanInput struct {
	Body struct {
		Ticket string `json:"session_ticket" minLength:"1" maxLength:"4096" doc:"It is used up."`
	}
}

func (h *Handlers) endSessionPlan(
	ctx context.Context, caller principal.Principal, in *endSessionPlanInput,
) (SessionStateBody, error) {
	state, err := h.Intent.EndSessionPlan(ctx, caller, in.Body.Ticket)
	return h.stateBody(ctx, caller, state, err)
}

type endSessionInput struct {
	Body struct {
		SessionID string `json:"session_id" minLength:"1" maxLength:"200"`
	}
}

func (h *Handlers) endSession(
	ctx context.Context, caller principal.Principal, in *endSessionInput,
) (SessionStateBody, error) {
	state, err := h.Intent.EndSession(ctx, caller, in.Body.SessionID)
	return h.stateBody(ctx, caller, state, err)
}
