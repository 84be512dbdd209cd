package agents_test

import (
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// titles are the notifications of a person, the newest first, with their kinds.
func titles(t *testing.T, p *testserver.Person, orgID string) (all []string) {
	t.Helper()
	told, err := p.Notifications(t.Context(), orgID, false, client.List{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range told.Items {
		all = append(all, n.Kind+": "+n.Title)
	}
	return all
}

// TestAKillIsTold: everybody who manages agents learns what another person stopped or suspended, once, and what it was.
func TestAKillIsTold(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		admin, member := o.Join(o.Owner, o.ID, "admin"), o.Join(o.Owner, o.ID, "member")
		hook, err := o.Owner.CreateWebhook(ctx, o.ID, client.NewWebhook{
			Name: "ops", Kind: "generic", URL: "https://hooks.example.org/x",
			Events: []string{"agent.killed", "agent.suspended"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"coder", "billing"} {
			if _, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{AgentID: id}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the second time changes nothing
			if _, err := admin.SetAgentStatus(ctx, o.ID, "billing", "suspended", "odd calls"); err != nil {
				t.Fatal(err)
			}
		}
		for _, kill := range [][2]string{
			{"agent", "coder"}, {"agent", "coder"}, {"tool", "bank.pay"}, {"organization", ""},
		} {
			if _, err := admin.KillScope(ctx, o.ID, kill[0], kill[1], "odd", false); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{
			"agent.killed: The whole organization was stopped with the kill switch",
			"agent.killed: Tool bank.pay was stopped with the kill switch",
			"agent.killed: Agent coder was stopped with the kill switch",
			"agent.suspended: Agent billing was suspended",
		}
		if got := titles(t, o.Owner, o.ID); !slices.Equal(got, want) {
			t.Errorf("the owner is told %q, want %q", got, want)
		}
		for who, p := range map[string]*testserver.Person{"who did it": admin, "a member": member} {
			if got := titles(t, p, o.ID); len(got) != 0 {
				t.Errorf("%s is told %q", who, got)
			}
		}
		testserver.Soon(t, "the owner is mailed", func() bool {
			return strings.Contains(o.LastMail(o.Owner.Email), o.URL+"/ui/agents/")
		})
		sent, err := o.Owner.WebhookDeliveries(ctx, o.ID, hook.ID, "", client.List{})
		if err != nil || len(sent.Items) != len(want) {
			t.Errorf("deliveries: %+v, %v", sent.Items, err)
		}
	})
}
