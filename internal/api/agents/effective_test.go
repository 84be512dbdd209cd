package agents_test

import (
	"slices"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// shown are the agents of a list by id, after it was checked that each is shown alone as it is listed.
func shown(t *testing.T, o *testserver.Org, f client.AgentFilter) map[string]client.Agent {
	t.Helper()
	listed, err := o.Owner.Agents(t.Context(), o.ID, f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]client.Agent{}
	for _, a := range listed.Items {
		all[a.AgentID] = a
		one, err := o.Owner.Agent(t.Context(), o.ID, a.AgentID)
		if err != nil || one.Status != a.Status || (one.Stopped == nil) != (a.Stopped == nil) {
			t.Errorf("%s is listed %s and shown %s, %v", a.AgentID, a.Status, one.Status, err)
		}
		if status, err := o.Owner.AgentStatus(t.Context(), o.ID, a.AgentID); err != nil || status != a.Status {
			t.Errorf("%s is listed %s, its status is %s, %v", a.AgentID, a.Status, status, err)
		}
	}
	return all
}

// TestTheListShowsWiderStops: what keeps an agent from acting makes it killed, whoever was stopped, and is told.
func TestTheListShowsWiderStops(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		terminal, free, shared := o.TerminalKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		root, err := terminal.CurrentKey(ctx)
		if err != nil {
			t.Fatal(err)
		}
		made, err := terminal.ProvisionKey(ctx, client.NewKey{Product: "made"})
		if err != nil {
			t.Fatal(err)
		}
		later := o.AgentKey(o.Owner, o.ID)
		for id, keys := range map[string][]string{
			"made": {made.ID}, "both": {made.ID, free.ID}, "either": {made.ID, later.ID}, "free": {free.ID},
			"keyless": nil,
		} {
			if _, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{AgentID: id, Keys: keys}); err != nil {
				t.Fatal(err)
			}
		}
		decide(t, o, shared.APIKey, "bot")
		decide(t, o, shared.APIKey, "neighbour")
		want := func(what string, killed map[string]string) { // agent to the subject of its stop
			t.Helper()
			for id, a := range shown(t, o, client.AgentFilter{}) {
				subject, is := killed[id]
				if is != (a.Status == "killed") || is != (a.Stopped != nil) ||
					is && (a.Stopped.Subject != subject || a.Stopped.Reason != what || a.Stopped.Index == 0) {
					t.Errorf("%s: %s is %s by %+v", what, id, a.Status, a.Stopped)
				}
			}
			if found := shown(t, o, client.AgentFilter{Status: "killed"}); len(found) != len(killed) {
				t.Errorf("%s: %d agents are listed as killed, not %d", what, len(found), len(killed))
			}
			active := shown(t, o, client.AgentFilter{Status: "active"})
			for id := range active {
				if _, is := killed[id]; is {
					t.Errorf("%s: %s is listed as active", what, id)
				}
			}
		}
		stop := func(scope, subject, why string, lift bool) {
			t.Helper()
			if _, err := o.Owner.KillScope(ctx, o.ID, scope, subject, why, lift); err != nil {
				t.Fatal(err)
			}
		}
		want("nothing", nil)

		stop("key", root.ID, "a line", false)
		want("a line", map[string]string{"made": root.ID})
		if both := shown(t, o, client.AgentFilter{})["both"]; !slices.Equal(both.StoppedKeys, []string{made.ID}) {
			t.Errorf("of its keys %v are stopped", both.StoppedKeys)
		}
		stop("key", root.ID, "explained", true)

		stop("agent", "bot", "shared keys", false)
		want("shared keys", map[string]string{"bot": "bot", "neighbour": "bot"})
		stop("agent", "bot", "explained", true)

		stop("organization", "", "everybody", false)
		everybody := map[string]string{}
		for _, id := range []string{"made", "both", "either", "free", "keyless", "bot", "neighbour"} {
			everybody[id] = ""
		}
		want("everybody", everybody)
		stop("agent", "free", "itself", false)
		if own := shown(t, o, client.AgentFilter{})["free"]; own.Stopped == nil || own.Stopped.Reason != "itself" {
			t.Errorf("the nearest stop is %+v", own.Stopped)
		}
		stop("agent", "free", "explained", true)
		stop("organization", "", "explained", true)
		want("nothing", nil)
		stop("server", "bank", "no agent", false)
		want("nothing", nil)
	})
}
