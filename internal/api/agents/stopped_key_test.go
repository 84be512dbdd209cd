package agents_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/api/route"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/testserver"
)

// TestWhatAStoppedKeyMayCall: of all routes that take keys, only those that are declared so. It is not told why.
func TestWhatAStoppedKeyMayCall(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		terminal := o.TerminalKey(o.Owner, o.ID)
		agent, err := o.Owner.CreateKey(ctx, client.NewKey{Name: "all", OrganizationID: o.ID, Scopes: []string{
			"ingest", "enforce", "audit", "delegation.request", "policy.draft",
		}})
		if err != nil {
			t.Fatal(err)
		}
		decide(t, o, agent.APIKey, "bot")
		decide(t, o, terminal.APIKey, "bot")
		if stop, err := o.Owner.KillAgent(ctx, o.ID, "bot", "deletes the wrong things"); err != nil ||
			len(stop.Keys) != 2 {
			t.Fatalf("%+v, %v", stop, err)
		}
		var open []string
		parameter := regexp.MustCompile(`\{[^}]+\}`)
		for _, r := range o.API.Routes() {
			if !slices.Contains([]route.Mode{route.Key, route.PersonOrKey, route.PlanToken}, r.Mode) {
				continue
			}
			key := agent.APIKey
			if r.Scope == principal.CLI {
				key = terminal.APIKey
			}
			path := parameter.ReplaceAllString(r.Path, database.NewID())
			answer := o.Request(t, r.Method, path, `{}`, "X-Api-Key", key)
			said := string(answer.Body)
			refused := answer.Status == 403 && strings.Contains(said, "stopped this API key")
			if refused == r.ForStopped {
				t.Errorf("%s %s: %d %s", r.Method, r.Path, answer.Status, answer.Body)
			}
			if strings.Contains(said, "deletes") {
				t.Errorf("%s %s says why: %s", r.Method, r.Path, answer.Body)
			}
			if !refused {
				open = append(open, r.Method+" "+r.Path)
			}
		}
		for _, never := range []string{
			"POST /api-keys/provision", "POST /api-keys/{id}/revoke", "POST /iap/sdk/switch-org",
			"POST /agent/register",
			"POST /policies/profiles/propose", "POST /delegation/request", "POST /agent/lease",
			"POST /dashboard/token-usage", "POST /v1/traces",
		} {
			if slices.Contains(open, never) {
				t.Errorf("a stopped key may call %s", never)
			}
		}
		for _, always := range []string{
			"POST /iap/enforce", "POST /iap/audit", "GET /iap/agent/{agentId}/status", "POST /observability/spans",
			"POST /iap/sdk/token", "POST /iap/sdk/preflight", "POST /iap/sdk/bootstrap", "POST /iap/sdk/enforce",
		} {
			if !slices.Contains(open, always) {
				t.Errorf("a stopped key may not call %s", always)
			}
		}
	})
}

// TestAStoppedKeyTakesNobodyDown: neither by revoking keys nor by spending another agent's budget.
func TestAStoppedKeyTakesNobodyDown(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		terminal, victim := o.TerminalKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		agent := o.AgentKey(o.Owner, o.ID)
		if _, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{
			AgentID: "billing", Keys: []string{victim.ID},
		}); err != nil {
			t.Fatal(err)
		}
		decide(t, o, terminal.APIKey, "bot")
		decide(t, o, agent.APIKey, "bot")
		if _, err := o.Owner.KillAgent(ctx, o.ID, "bot", "r"); err != nil {
			t.Fatal(err)
		}
		if err := terminal.RevokeKey(ctx, victim.ID); client.StatusOf(err) != 403 {
			t.Errorf("a stopped key revokes another: %v", err)
		}
		decide(t, o, victim.APIKey, "billing")
		send := func(agentID string) testserver.Answer {
			return o.Request(t, "POST", "/observability/spans", `{"product":"p","batches":[{"trace":{"id":"`+
				database.NewID()+`","name":"n","startTime":"2030-05-01T12:00:00Z","status":"ok","agentId":"`+agentID+
				`"}}]}`,
				"X-Api-Key", agent.APIKey)
		}
		for id, want := range map[string]int{"bot": 200, "": 200, "billing": 403, "somebody": 403} {
			if answer := send(id); answer.Status != want {
				t.Errorf("a trace of %q: %d %s, want %d", id, answer.Status, answer.Body, want)
			}
		}
		if _, err := o.Owner.ReviveAgent(ctx, o.ID, "bot", "explained"); err != nil {
			t.Fatal(err)
		}
		if answer := send("somebody"); answer.Status != 200 {
			t.Errorf("after the revival: %d %s", answer.Status, answer.Body)
		}
	})
}

// TestListedKeysSayThatTheyAreStopped: a key that is stopped by itself, and all keys of an organization that is.
func TestListedKeysSayThatTheyAreStopped(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		stopped, other := o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		for _, tt := range []struct {
			scope, subject string
			lift           bool
			one, all       bool // whether that key is stopped, and the other too
		}{
			{"key", stopped.ID, false, true, false},
			{"organization", "", false, true, true},
			{"organization", "", true, true, false},
			{"key", stopped.ID, true, false, false},
		} {
			if _, err := o.Owner.KillScope(t.Context(), o.ID, tt.scope, tt.subject, "r", tt.lift); err != nil {
				t.Fatal(err)
			}
			listed, err := o.Owner.Keys(t.Context(), o.ID, client.List{})
			if err != nil {
				t.Fatal(err)
			}
			told := map[string]bool{}
			for _, k := range listed.Items {
				told[k.ID] = k.Stopped
			}
			if told[stopped.ID] != tt.one || told[other.ID] != tt.all {
				t.Errorf("%s, lift %t: %v, want %t and %t", tt.scope, tt.lift, told, tt.one, tt.all)
			}
		}
	})
}
