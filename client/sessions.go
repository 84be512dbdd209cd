package client

import (
	"context"
	"time"
)

// A guarded session is a session of a coding agent whose hooks tell the server of every turn. Its calls need
// a plan, which belongs to one turn.

// TurnRequest opens a turn of a guarded session.
type TurnRequest struct {
	SessionID string `json:"session_id"`
	AgentID   string `json:"agent_id,omitempty"`
	Prompt    string `json:"prompt,omitempty"`     // what the person typed, and nothing else
	Text      string `json:"text,omitempty"`       // what came along, such as an attached file
	CarryPlan bool   `json:"carry_plan,omitempty"` // keep the plan of the turn before, if the organization permits
}

// PlannedTool is a tool of a plan.
type PlannedTool struct {
	Action string `json:"action"` // as the plan writes it
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// SessionState is what the server knows of a guarded session.
type SessionState struct {
	SessionID     string        `json:"sessionId"`
	AgentID       string        `json:"agentId"`
	Turn          int64         `json:"turn"` // from 1; 0: none is open
	Ended         bool          `json:"ended"`
	PlanID        string        `json:"planId"` // empty: the turn has no live plan
	PlanGoal      string        `json:"planGoal"`
	PlanExpiresAt *time.Time    `json:"planExpiresAt"`
	Tools         []PlannedTool `json:"tools"`
	// MonitorAllowed: the organization permits hooks to log instead of deny.
	MonitorAllowed bool `json:"monitorAllowed"`

	// Of a new turn.
	Carried    bool `json:"carried"`    // the plan of the turn before still counts
	PromptKept bool `json:"promptKept"` // calls are grounded in it
}

// SessionTicket proves to the server that a plan is for a session's present turn. It counts once.
type SessionTicket struct {
	Ticket    string    `json:"ticket"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// OpenSession makes a session a guarded one: from now on its calls need a plan.
func (c *Client) OpenSession(ctx context.Context, sessionID, agentID string) (SessionState, error) {
	return post[SessionState](ctx, c, "/iap/session/open", nil,
		map[string]string{"session_id": sessionID, "agent_id": agentID})
}

// OpenTurn opens the next turn. The plans of the turn before end, unless they are carried over.
func (c *Client) OpenTurn(ctx context.Context, r TurnRequest) (SessionState, error) {
	return post[SessionState](ctx, c, "/iap/session/turn", nil, r)
}

// Ticket asks for a ticket of a session's present turn, which the caller must know.
func (c *Client) Ticket(ctx context.Context, sessionID string, turn int64) (SessionTicket, error) {
	return post[SessionTicket](ctx, c, "/iap/session/ticket", nil,
		map[string]any{"session_id": sessionID, "turn": turn})
}

// SessionState reads the state of a guarded session.
func (c *Client) SessionState(ctx context.Context, sessionID string) (SessionState, error) {
	return post[SessionState](ctx, c, "/iap/session/state", nil, map[string]string{"session_id": sessionID})
}

// TicketState reads the state of the session that a ticket is for. It does not use the ticket up.
func (c *Client) TicketState(ctx context.Context, ticket string) (SessionState, error) {
	return post[SessionState](ctx, c, "/iap/session/state", nil, map[string]string{"session_ticket": ticket})
}

// EndSessionPlan ends the plans of the turn that a ticket is for.
func (c *Client) EndSessionPlan(ctx context.Context, ticket string) (SessionState, error) {
	return post[SessionState](ctx, c, "/iap/session/plan/end", nil, map[string]string{"session_ticket": ticket})
}

// EndSession ends a guarded session and its plans. A new turn opens it again.
func (c *Client) EndSession(ctx context.Context, sessionID string) (SessionState, error) {
	return post[SessionState](ctx, c, "/iap/session/end", nil, map[string]string{"session_id": sessionID})
}
