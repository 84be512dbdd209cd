package api_test

import (
	"context"
	"net/http"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// someAgent is a registered agent.
func someAgent(s *testserver.Server, p *testserver.Person, orgID string) string {
	s.T.Helper()
	made, err := p.RegisterAgent(s.T.Context(), orgID, client.NewAgent{
		AgentID: "agent-" + database.NewID(), Name: "Harbour pilot",
	})
	if err != nil {
		s.T.Fatalf("register an agent: %v", err)
	}
	return made.AgentID
}

// registerTenant gives a tenant an agent.
func registerTenant(s *testserver.Server, w *tenant) map[string]map[string]string {
	s.T.Helper()
	id := map[string]string{"agentId": someAgent(s, w.owner, w.org)}
	w.private = append(w.private, id["agentId"])
	return map[string]map[string]string{
		"GET /agent/agents/{agentId}":         id,
		"PATCH /agent/agents/{agentId}":       id,
		"POST /agent/agents/{agentId}/status": id,
		"POST /iap/agent/{agentId}/kill":      id,
		"GET /iap/agent/{agentId}/status":     id,
		"POST /iap/agent/{agentId}/revive":    id,
	}
}

func (w *changes) agentScenarios() map[string]scenario {
	return map[string]scenario{
		"POST /agent/register":                      w.registerAgent,
		"PATCH /agent/agents/{agentId}":             w.updateAgent,
		"POST /agent/agents/{agentId}/status":       w.suspendAgent,
		"PUT /organization/{orgId}/agents/settings": w.changeAgentSettings,
		"POST /iap/agent/{agentId}/kill":            w.killAgent,
		"POST /iap/agent/{agentId}/revive":          w.reviveAgent,
		"POST /organization/{orgId}/kill-switch":    w.stopTool,
		"POST /agent/lease":                         w.giveLease,
	}
}

func (w *changes) registerAgent() func(context.Context) (string, error) {
	id := "agent-" + database.NewID()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.RegisterAgent(ctx, w.org, client.NewAgent{AgentID: id})
		return err
	})
}

func (w *changes) updateAgent() func(context.Context) (string, error) {
	id := someAgent(w.Server, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.UpdateAgent(ctx, w.org, id, map[string]any{"name": "Renamed"})
		return err
	})
}

func (w *changes) suspendAgent() func(context.Context) (string, error) {
	id := someAgent(w.Server, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.SetAgentStatus(ctx, w.org, id, "suspended", "odd calls")
		return err
	})
}

func (w *changes) changeAgentSettings() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.SetAgentSettings(ctx, w.org, client.AgentSettings{UnregisteredMayAct: true})
		return err
	})
}

func (w *changes) killAgent() func(context.Context) (string, error) {
	id := someAgent(w.Server, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.KillAgent(ctx, w.org, id, "odd calls")
		return err
	})
}

func (w *changes) reviveAgent() func(context.Context) (string, error) {
	id := someAgent(w.Server, w.owner, w.org)
	if _, err := w.owner.KillAgent(w.T.Context(), w.org, id, "odd calls"); err != nil {
		w.T.Fatal(err)
	}
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.ReviveAgent(ctx, w.org, id, "explained")
		return err
	})
}

func (w *changes) stopTool() func(context.Context) (string, error) {
	tool := "tool-" + database.NewID()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.KillScope(ctx, w.org, "tool", tool, "odd calls", false)
		return err
	})
}

// giveLease acts in an organization of its own, in which calls need no plan.
func (w *changes) giveLease() func(context.Context) (string, error) {
	org := w.Organization(w.owner, "Leases")
	_, err := w.owner.SetAgentSettings(w.T.Context(), org, client.AgentSettings{
		UnregisteredMayAct: true, LeaseSeconds: new(int64(60)),
	})
	if err != nil {
		w.T.Fatal(err)
	}
	w.ActivePolicy(w.owner, org, testserver.PolicyText("leases", "allow"))
	key := w.Public.WithKey(w.AgentKey(w.owner, org).APIKey)
	return inLog(org, func(ctx context.Context) error {
		_, err := key.Lease(ctx, client.LeaseRequest{Tools: []client.LeaseTool{{Server: "bank", Tool: "pay"}}})
		return err
	})
}

// agentRoleCases are the calls about what an organization says about agents.
func agentRoleCases() []roleCase {
	const path = "/organization/{orgId}/agents/settings"
	return []roleCase{
		{"GET " + path, "read what is said about agents", anyRole, 0,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.AgentSettings(ctx, org)
				return err
			}},
		{"PUT " + path, "change what is said about agents", managers, http.StatusForbidden,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.SetAgentSettings(ctx, org, client.AgentSettings{UnregisteredMayAct: true})
				return err
			}},
		{"POST /organization/{orgId}/kill-switch", "stop a tool", managers, http.StatusForbidden,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.KillScope(ctx, org, "tool", "none-of-ours", "odd calls", false)
				return err
			}},
		{"GET /organization/{orgId}/kill-switch", "see what is stopped", anyRole, 0,
			func(ctx context.Context, _ *testserver.Server, org string, p *testserver.Person) error {
				_, err := p.Stops(ctx, org)
				return err
			}},
	}
}
