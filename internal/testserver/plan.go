package testserver

import (
	"encoding/json"

	"writ/client"
)

// OnePlan is the plan of one step that most tests declare.
const OnePlan = `{"goal":"look","steps":[{"action":"read","mcp":"files","params":{"path":"a.txt"}}]}`

// Declare declares a plan with a goal.
func (s *Server) Declare(key, goal string) client.PlanToken {
	s.T.Helper()
	text, err := json.Marshal(map[string]any{
		"goal": goal, "steps": []any{map[string]any{"action": "read", "mcp": "files"}},
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return s.Declared(key, client.PlanRequest{Plan: text, AgentID: "agent", ExpiresIn: 600})
}

// Declared declares a plan.
func (s *Server) Declared(key string, r client.PlanRequest) client.PlanToken {
	s.T.Helper()
	token, err := s.Public.WithKey(key).DeclarePlan(s.T.Context(), r)
	if err != nil {
		s.T.Fatalf("declare a plan: %v", err)
	}
	return token
}

// Manifest is the manifest of an agent with lists.
func Manifest(agent string, lists m) m {
	return m{"version": "v1", "identity": m{"api_key": "$KEY", "user_id": "u", "agent_id": agent}, "policy": lists}
}
