package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"writ/client"
)

// onePlan is the plan of one step that most tests declare.
const onePlan = `{"goal":"look","steps":[{"action":"read","mcp":"files","params":{"path":"a.txt"}}]}`

// declare declares a plan with a goal.
func (s *server) declare(key, goal string) client.PlanToken {
	s.t.Helper()
	text, err := json.Marshal(map[string]any{
		"goal": goal, "steps": []any{map[string]any{"action": "read", "mcp": "files"}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.declared(key, client.PlanRequest{Plan: text, AgentID: "agent", ExpiresIn: 600})
}

func (s *server) declared(key string, r client.PlanRequest) client.PlanToken {
	s.t.Helper()
	token, err := s.public.WithKey(key).DeclarePlan(s.t.Context(), r)
	if err != nil {
		s.t.Fatalf("declare a plan: %v", err)
	}
	return token
}

// agent is a client with a new key of the organization.
func (w *changes) agent() *client.Client {
	w.t.Helper()
	return w.public.WithKey(w.keyFor(w.owner.ID, w.org).Secret.Reveal())
}

func (w *changes) declarePlan() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.DeclarePlan(ctx, client.PlanRequest{Plan: json.RawMessage(onePlan)})
		return err
	})
}

func (w *changes) endPlan() func(context.Context) (string, error) {
	agent := w.agent()
	id := w.declare(agent.APIKey, "end").PlanID
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
	token := w.declare(agent.APIKey, "enforce")
	w.firstDecision(agent)
	return inLog(w.org, func(ctx context.Context) error {
		return decided(agent.Enforce(ctx, client.PlannedCall{Tool: "read", IntentToken: token}))
	})
}

// firstDecision makes the key of the organization's digests, and has the server
// learn what is new.
func (w *changes) firstDecision(agent *client.Client) {
	w.t.Helper()
	if _, err := agent.Enforce(w.t.Context(), client.PlannedCall{Tool: "first"}); err != nil {
		w.t.Fatalf("the first decision: %v", err)
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

func (w *changes) verifyStep() func(context.Context) (string, error) {
	token := w.declare(w.agent().APIKey, "verify").JWT
	return inLog(w.org, func(ctx context.Context) error {
		return w.public.Call(ctx, http.MethodPost, "/iap/verify-step", nil,
			map[string]string{"token": token, "tool_name": "read"}, nil)
	})
}

func (w *changes) bindPolicy() func(context.Context) (string, error) {
	// The first makes the signing key, which is recorded.
	if err := w.public.Call(w.t.Context(), http.MethodPost, "/intent", nil,
		map[string]any{"plan": json.RawMessage(onePlan)}, nil); err != nil {
		w.t.Fatalf("bind a policy: %v", err)
	}
	return inLog("", func(ctx context.Context) error {
		return w.public.Call(ctx, http.MethodPost, "/intent", nil, map[string]any{"plan": json.RawMessage(onePlan)},
			nil)
	})
}

func (w *changes) verifyAction() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		return w.public.Call(ctx, http.MethodPost, "/verify/action", nil, map[string]any{}, nil)
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
			manifestOf("recorded", m{"allow": []string{"files.read"}}), nil)
	})
}

func (w *changes) preflight() func(context.Context) (string, error) {
	agent := w.agent()
	return inLog(w.org, func(ctx context.Context) error {
		return agent.Call(ctx, http.MethodPost, "/iap/sdk/preflight", nil,
			m{"agent_id": "a", "user_prompt": "p", "tool_calls": []m{{"name": "files__read"}}}, nil)
	})
}

// manifestOf is the manifest of an agent with lists.
func manifestOf(agent string, lists m) m {
	return m{"version": "v1", "identity": m{"api_key": "$KEY", "user_id": "u", "agent_id": agent}, "policy": lists}
}

func (w *changes) changeSettings() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.SetEnforcementSettings(ctx, w.org, client.EnforcementSettings{
			IntentRequired: true, MaxPlanTTLSeconds: 60,
		})
		return err
	})
}

// jsonOf is a value as JSON.
func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
