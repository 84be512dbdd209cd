package api_test

import (
	"context"

	"writ/client"
)

func (w *changes) openSession() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.OpenSession(ctx, "opened", "bot")
		return err
	})
}

func (w *changes) openTurn() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.OpenTurn(ctx, client.TurnRequest{SessionID: "turned", Prompt: "build it", Text: "of a file"})
		return err
	})
}

// guarded is a client with a new key and the session s, whose first turn is open. It has made the key that signs.
func (w *changes) guarded() (agent *client.Client, ticket string) {
	w.T.Helper()
	agent = w.agent()
	_, err := agent.OpenTurn(w.T.Context(), client.TurnRequest{SessionID: "s"})
	var given client.SessionTicket
	if err == nil {
		given, err = agent.Ticket(w.T.Context(), "s", 1)
	}
	if err != nil {
		w.T.Fatalf("guard a session: %v", err)
	}
	return agent, given.Ticket
}

func (w *changes) giveTicket() func(context.Context) (string, error) {
	agent, _ := w.guarded()
	return inLog("", func(ctx context.Context) error {
		_, err := agent.Ticket(ctx, "s", 1)
		return err
	})
}

func (w *changes) sessionState() func(context.Context) (string, error) {
	agent, _ := w.guarded()
	return inLog("", func(ctx context.Context) error {
		_, err := agent.SessionState(ctx, "s")
		return err
	})
}

func (w *changes) endSessionPlan() func(context.Context) (string, error) {
	agent, ticket := w.guarded()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.EndSessionPlan(ctx, ticket)
		return err
	})
}

func (w *changes) endSession() func(context.Context) (string, error) {
	agent, _ := w.guarded()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.EndSession(ctx, "s")
		return err
	})
}
