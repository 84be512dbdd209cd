package testserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"writ/client"
	"writ/internal/database"
)

// PolicyText is a policy of a name (as YAML writes it) with one rule for every
// tool of the bank.
func PolicyText(name, effect string) string {
	return fmt.Sprintf("version: v1\nname: %s\nrules:\n  - id: bank\n    effect: %s\n    tools: [\"bank.*\"]\n", name,
		effect)
}

// Draft makes a policy that denies, and does not activate it.
func (s *Server) Draft(p *Person, orgID, name string) (id string) {
	s.T.Helper()
	made, err := p.CreatePolicy(s.T.Context(), orgID, client.YAMLDocument, PolicyText(name, "deny"))
	if err != nil {
		s.T.Fatalf("create a policy: %v", err)
	}
	return made.ID
}

// ActivePolicy makes a policy and activates it.
func (s *Server) ActivePolicy(p *Person, orgID, text string) (id string) {
	s.T.Helper()
	made, err := p.CreatePolicy(s.T.Context(), orgID, client.YAMLDocument, text)
	if err != nil {
		s.T.Fatalf("create a policy: %v", err)
	}
	if _, err := p.ActivatePolicy(s.T.Context(), made.ID, 0); err != nil {
		s.T.Fatalf("activate a policy: %v", err)
	}
	return made.ID
}

// DraftKey is a key that writes drafts.
func (s *Server) DraftKey(p *Person, orgID string) client.IssuedKey {
	s.T.Helper()
	key, err := p.CreateKey(s.T.Context(), client.NewKey{
		Name: "drafts", OrganizationID: orgID, Scopes: []string{"policy.draft"},
	})
	if err != nil {
		s.T.Fatalf("create a key: %v", err)
	}
	return key
}

// Asked has an agent ask about a call through the real path, and gives the answer.
func (s *Server) Asked(key, agentID, server, tool string, args m) (action string) {
	s.T.Helper()
	var answer struct {
		Action string `json:"action"`
	}
	body := m{
		"source":      "test",
		"session_id":  "s",
		"agent_id":    agentID,
		"tool_name":   tool,
		"tool_input":  args,
		"mcp_context": m{"server_name": server, "tool_name": tool},
	}
	if err := s.Public.WithKey(key).Call(s.T.Context(), http.MethodPost, "/iap/enforce", nil, body,
		&answer); err != nil {
		s.T.Fatalf("ask about %s.%s: %v", server, tool, err)
	}
	return answer.Action
}

// WorkPolicy is the policy that Work needs.
const WorkPolicy = `
version: v1
name: work
default: deny
rules:
  - {id: files, effect: allow, tools: ["files.*"]}
  - {id: pay, effect: allow, tools: [bank.pay], when: args.amount < 100}
  - {id: large, effect: hold, tools: [bank.pay], when: args.amount >= 100}
`

// Work has an agent do a day's work under WorkPolicy.
func (o *Org) Work(key string) {
	o.T.Helper()
	const anna = "/home/anna/diary"
	for _, c := range []struct {
		agent, server, tool string
		args                m
		want                string
	}{
		{"worker", "files", "read", m{"path": "src/a.go"}, "allow"},
		{"worker", "files", "read", m{"path": "src/a.go"}, "allow"},
		{"worker", "files", "read", m{"path": "src/b.go"}, "allow"},
		{"worker", "files", "read", m{"path": anna}, "allow"},
		{"worker", "files", "login", m{"password": "hunter2hunter2"}, "allow"},
		{"worker", "bank", "pay", m{"amount": 5}, "allow"},
		{"worker", "bank", "pay", m{"amount": 500}, "hold"},
		{"worker", "shell", "run", m{"command": "ls"}, "deny"},
		{"other", "files", "list", m{}, "allow"},
	} {
		if got := o.Asked(key, c.agent, c.server, c.tool, c.args); got != c.want {
			o.T.Fatalf("%s.%s %v: %s, want %s", c.server, c.tool, c.args, got, c.want)
		}
	}
}

// Proposed stages a profile and proposes it.
func (s *Server) Proposed(by *client.Client, orgID, profile string) client.Proposal {
	s.T.Helper()
	if _, err := by.StageProfile(s.T.Context(), orgID, json.RawMessage(profile)); err != nil {
		s.T.Fatalf("stage a profile: %v", err)
	}
	proposal, err := by.ProposeProfile(s.T.Context(), orgID, "for a test")
	if err != nil {
		s.T.Fatalf("propose a profile: %v", err)
	}
	return proposal
}

// Profile is a profile whose one statement forbids a tool.
func Profile(name, tool string) string {
	return fmt.Sprintf(`{"schemaVersion":"armor.policy.v1","kind":"PolicyProfile","metadata":{"name":%q,"description":""},"defaults":{"decision":"allow","conflictResolution":"deny_overrides"},`+
		`"statements":[{"id":"s","effect":"forbid","principal":{"type":"agent","id":"*"},"action":{"type":"tool","eq":%q},"resource":{"type":"workspace","scope":"current"},"conditions":[]}]}`, name, tool)
}

// PluginKey is a key with what a plugin needs.
func (s *Server) PluginKey(p *Person, orgID string) string {
	s.T.Helper()
	key, err := p.CreateKey(s.T.Context(), client.NewKey{
		Name: "plugin", OrganizationID: orgID, Scopes: []string{"enforce", "policy.draft", "audit", "ingest"},
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return key.APIKey
}

// HeldReplay stores a replay that another server runs, which was heard of last at
// some time from now.
func (s *Server) HeldReplay(orgID string, attempts int, heard time.Duration) string {
	s.T.Helper()
	id := database.NewID()
	err := s.Database.Write(s.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		now := tx.Now()
		_, err := tx.Exec(ctx, `
			INSERT INTO policy_replay (id, org_id, state, name, policy_id, version, format, source, digest, days, from_at, until_at,
				author_kind, author_id, created_at, attempts, runner, lease_until, done, total, problem, report)
			VALUES ($1, $2, 'running', 'held', '', 0, 'yaml', $3, '', 7, $4, $5, 'user', 'u', $5, $6, 'another', $7, 5, 10, '', '')`,
			id, orgID, PolicyText("held", "deny"), database.Micros(now.AddDate(0, 0, -7)), database.Micros(now),
			attempts, database.Micros(now.Add(heard)))
		return err
	}})
	if err != nil {
		s.T.Fatalf("store a replay: %v", err)
	}
	return id
}
