package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"writ/client"
	"writ/internal/testserver"
)

// delegation delegates a new plan of the agent, to a key that no other has.
func (w *changes) delegation(agent *client.Client, path string) func(context.Context) error {
	w.T.Helper()
	token := w.Declare(agent.APIKey, "delegate")
	return func(ctx context.Context) error {
		return agent.Call(ctx, http.MethodPost, path, nil, map[string]any{
			"token": token.Token, "delegate_public_key": strings.Repeat("cd", 32),
		}, nil)
	}
}

// delegate delegates a plan. The first delegation makes the organization's key.
func (w *changes) delegate(path string) func() func(context.Context) (string, error) {
	return func() func(context.Context) (string, error) {
		agent := w.agent()
		w.firstDelegation(agent)
		return inLog(w.org, w.delegation(agent, path))
	}
}

func (w *changes) firstDelegation(agent *client.Client) {
	w.T.Helper()
	if err := w.delegation(agent, "/iap/trust/delegate")(w.T.Context()); err != nil {
		w.T.Fatalf("the first delegation: %v", err)
	}
}

func (w *changes) reanchorPlan() func(context.Context) (string, error) {
	agent := w.agent()
	w.firstDelegation(agent)
	id := w.Declare(agent.APIKey, "re-anchor").PlanID
	return inLog(w.org, func(ctx context.Context) error {
		return agent.Call(ctx, http.MethodPost, "/iap/trust/reanchor", nil,
			map[string]any{"newPlan": json.RawMessage(testserver.OnePlan), "planId": id}, nil)
	})
}

func (w *changes) revokePlan() func(context.Context) (string, error) {
	agent := w.agent()
	w.firstDelegation(agent)
	token := w.Declare(agent.APIKey, "revoke")
	return inLog(w.org, func(ctx context.Context) error {
		return agent.Call(ctx, http.MethodPost, "/iap/trust/revoke", nil,
			map[string]any{"token": token.Token, "reason": "done"}, nil)
	})
}
