package beforetool

import (
	"context"
	"encoding/json"
	"errors"

	"writ/internal/hook/gemini"
	"writ/internal/hook/state"
)

// ticketMember is where the plan server looks for the ticket. A model's own is replaced.
const ticketMember = "session_ticket"

// handOver puts the server's ticket for the session's turn into a call of the plan server. The model never
// learns the id of its session, and cannot name another one.
func (c *call) handOver(ctx context.Context) gemini.Answer {
	ticket, err := c.ticket(ctx)
	if err != nil {
		return c.refuse(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(c.ToolInput, &members); err != nil {
		return c.refuse(err)
	}
	if members[ticketMember], err = json.Marshal(ticket); err != nil {
		return c.refuse(err)
	}
	input, err := json.Marshal(members)
	if err != nil {
		return c.refuse(err)
	}
	d := c.stored(ruling{DecidedBy: hookItself, Rule: "plan_server"})
	d.Verdict, d.Input, d.Original = state.Allow, input, c.ToolInput
	if err := c.session.Decided(d); err != nil {
		return c.refuse(err)
	}
	return gemini.Answer{
		Decision: gemini.Allow,
		Specific: &gemini.Specific{Event: gemini.BeforeTool, ToolInput: input},
	}
}

// refuse denies a call of the plan server, also where calls are only monitored: without a ticket it could do nothing.
func (c *call) refuse(err error) gemini.Answer {
	r := undecided(err)
	c.keep(r, false)
	return denied(c.ToolName, r.Reason)
}

func (c *call) ticket(ctx context.Context) (string, error) {
	body, err := json.Marshal(map[string]any{"session_id": c.SessionID, "turn": c.turn})
	if err != nil {
		return "", err
	}
	answer, err := c.exchange(ctx, "POST", "/iap/session/ticket", body)
	if err != nil {
		return "", err
	}
	var issued struct{ Ticket string }
	if err := json.Unmarshal(answer, &issued); err != nil || issued.Ticket == "" {
		return "", errors.New("the server's answer is no ticket")
	}
	return issued.Ticket, nil
}
