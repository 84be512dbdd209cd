package agents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestAKillOfAnUnknownPlanIsRefused: its id comes from the server, so whoever gives another one has mistaken it.
func TestAKillOfAnUnknownPlanIsRefused(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		elsewhere := o.Organization(o.Owner, "There")
		plan := func(org string) string {
			return o.Declared(o.AgentKey(o.Owner, org).APIKey, client.PlanRequest{
				Plan: []byte(testserver.OnePlan), AgentID: "bot",
			}).PlanID
		}
		for _, id := range []string{"latest", database.NewID(), plan(elsewhere)} {
			_, err := o.Owner.KillScope(ctx, o.ID, "plan", id, "r", false)
			if client.StatusOf(err) != 404 || !strings.Contains(err.Error(), "subject: no such plan") {
				t.Errorf("plan %s: %v", id, err)
			}
		}
		if stops, err := o.Owner.Stops(ctx, o.ID); err != nil || len(stops) != 0 {
			t.Errorf("%+v, %v", stops, err)
		}
		if stop, err := o.Owner.KillScope(ctx, o.ID, "plan", plan(o.ID), "r", false); err != nil || stop.Unseen {
			t.Errorf("%+v, %v", stop, err)
		}
	})
}

// TestAKillSaysThatNobodyHasSeenTheName of a server or tool. It holds all the same.
func TestAKillSaysThatNobodyHasSeenTheName(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		there := o.Organization(o.Owner, "There")
		calls := func(org, tool string) map[string]any {
			body := testserver.JSON(t, map[string]any{
				"tool_name": tool, "agent_id": "bot", "tool_input": map[string]any{},
			})
			answer := o.Request(t, "POST", "/iap/enforce", body, "X-Api-Key", o.AgentKey(o.Owner, org).APIKey)
			var said map[string]any
			if err := json.Unmarshal([]byte(answer.Body), &said); err != nil {
				t.Fatalf("%d %s", answer.Status, answer.Body)
			}
			return said
		}
		calls(o.ID, "mcp__bank__send_money")
		calls(o.ID, "read")
		calls(there, "mcp__mint__press")
		if _, err := o.Owner.RegisterMCPServer(ctx, o.ID, client.NewMCPServer{
			Name: "Yard", URL: "https://yard.example/mcp",
		}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			scope, subject string
			unseen         bool
		}{
			{"server", "bank", false}, {"server", "BANK", false}, {"server", "banc", true},
			{"server", "yard", false}, {"server", "yards", true}, {"server", "mint", true},
			{"tool", "send_money", false}, {"tool", "bank.send_money", false}, {"tool", "mcp__bank__send_money", false},
			{"tool", "mcp_bank_send_money", false}, {"tool", "read", false}, {"tool", "press", true},
			{"tool", "bank.send_mony", true}, {"tool", "banc.send_money", true},
			{"tool", "mcp__bank__send_mony", true}, {"tool", "send_mony", true},
		} {
			for _, time := range []string{"first", "second"} { // the entry of the first is no sight of it
				stop, err := o.Owner.KillScope(ctx, o.ID, c.scope, c.subject, "r", false)
				if err != nil || stop.Unseen != c.unseen {
					t.Errorf("%s %s, the %s time: unseen %v, %v", c.scope, c.subject, time, stop.Unseen, err)
				}
			}
		}
		if said := calls(o.ID, "mcp__banc__list"); !strings.Contains(said["reason"].(string), "stopped") {
			t.Errorf("a server that was stopped ahead: %v", said)
		}
	})
}
