package api_test

import (
	"context"
	"encoding/json"
	"net/http"

	"writ/client"
	"writ/internal/testserver"
)

// agent is a client with a new key of the organization.
func (w *changes) agent() *client.Client {
	w.T.Helper()
	return w.Public.WithKey(w.KeyFor(w.owner.ID, w.org).Secret.Reveal())
}

func (w *changes) declarePlan() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.DeclarePlan(ctx, client.PlanRequest{Plan: json.RawMessage(testserver.OnePlan)})
		return err
	})
}

func (w *changes) statePrompt() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog(w.org, func(ctx context.Context) error {
		body := json.RawMessage(`{"session_id":"s","prompt":"pay the rent"}`)
		return agent.Call(ctx, http.MethodPost, "/iap/sdk/prompt", nil, body, nil)
	})
}

func (w *changes) changeClasses() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		return w.owner.Call(ctx, http.MethodPut, "/organization/"+w.org+"/tool-classes", nil, toolClasses, nil)
	})
}

func (w *changes) endPlan() func(context.Context) (string, error) {
	agent := w.agent()
	id := w.Declare(agent.APIKey, "end").PlanID
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.SetPlanStatus(ctx, id, "completed")
		return err
	})
}

// decided is an error where a decision could not be recorded: it is answered as
// a deny, which the log does not have.
func decided(d client.Decision, err error) error {
	if err == nil && d.DecisionID == "" {
		return &client.Error{StatusCode: http.StatusServiceUnavailable, Message: d.Reason}
	}
	return err
}

func (w *changes) enforceSDK() func(context.Context) (string, error) {
	agent := w.agent()
	token := w.Declare(agent.APIKey, "enforce")
	w.firstDecision(agent)
	return inLog(w.org, func(ctx context.Context) error {
		return decided(agent.Enforce(ctx, client.PlannedCall{Tool: "read", IntentToken: token}))
	})
}

// firstDecision makes the key of the organization's digests, and has the server
// learn what is new.
func (w *changes) firstDecision(agent *client.Client) {
	w.T.Helper()
	if _, err := agent.Enforce(w.T.Context(), client.PlannedCall{Tool: "first"}); err != nil {
		w.T.Fatalf("the first decision: %v", err)
	}
}

func (w *changes) enforcePlugin() func(context.Context) (string, error) {
	agent := w.agent()
	w.firstDecision(agent)
	return inLog(w.org, func(ctx context.Context) error {
		var d client.Decision
		err := agent.Call(ctx, http.MethodPost, "/iap/enforce", nil,
			map[string]any{"tool_name": "read_file", "tool_input": map[string]any{}}, &d)
		return decided(d, err)
	})
}

func (w *changes) invoke() func(context.Context) (string, error) {
	agent := w.agent()
	w.firstDecision(agent)
	return inLog(w.org, func(ctx context.Context) error {
		var d client.Decision
		err := agent.Call(ctx, http.MethodPost, "/invoke", nil,
			map[string]any{"mcp": "bank", "tool": "pay", "enforce_only": true}, &d)
		return decided(d, err)
	})
}

func (w *changes) verifyStep() func(context.Context) (string, error) {
	token := w.Declare(w.agent().APIKey, "verify").JWT
	return inLog(w.org, func(ctx context.Context) error {
		return w.Public.Call(ctx, http.MethodPost, "/iap/verify-step", nil,
			map[string]string{"token": token, "tool_name": "read"}, nil)
	})
}

func (w *changes) bindPolicy() func(context.Context) (string, error) {
	// The first makes the signing key, which is recorded.
	if err := w.Public.Call(w.T.Context(), http.MethodPost, "/intent", nil,
		map[string]any{"plan": json.RawMessage(testserver.OnePlan)}, nil); err != nil {
		w.T.Fatalf("bind a policy: %v", err)
	}
	return inLog("", func(ctx context.Context) error {
		return w.Public.Call(ctx, http.MethodPost, "/intent", nil,
			map[string]any{"plan": json.RawMessage(testserver.OnePlan)},
			nil)
	})
}

func (w *changes) verifyAction() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		return w.Public.Call(ctx, http.MethodPost, "/verify/action", nil, map[string]any{}, nil)
	})
}

func (w *changes) bootstrap() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog("", func(ctx context.Context) error {
		return agent.Call(ctx, http.MethodPost, "/iap/sdk/bootstrap", nil, map[string]any{}, nil)
	})
}

func (w *changes) resolveUser() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog("", func(ctx context.Context) error {
		return agent.Call(ctx, http.MethodPost, "/iap/sdk/resolve-user", nil,
			map[string]any{"userEmail": w.owner.Email}, nil)
	})
}

func (w *changes) registerManifest() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog(w.org, func(ctx context.Context) error {
		return agent.Call(ctx, http.MethodPost, "/iap/sdk/register", nil,
			testserver.Manifest("recorded", m{"allow": []string{"files.read"}}), nil)
	})
}

func (w *changes) preflight() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog(w.org, func(ctx context.Context) error {
		return agent.Call(ctx, http.MethodPost, "/iap/sdk/preflight", nil,
			m{"agent_id": "a", "user_prompt": "p", "tool_calls": []m{{"name": "files__read"}}}, nil)
	})
}

func (w *changes) changeSettings() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.SetEnforcementSettings(ctx, w.org, client.EnforcementSettings{
			IntentRequired: true, MaxPlanTTLSeconds: 60,
		})
		return err
	})
}
