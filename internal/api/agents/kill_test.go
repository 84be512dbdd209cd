package agents_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestKillSwitch: a person stops an agent, its key learns nothing but its status, and the answer names what stops.
func TestKillSwitch(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		key, second := o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		decide(t, o, key.APIKey, "team/bot")
		decide(t, o, key.APIKey, "other")
		bot, err := o.Owner.Agent(ctx, o.ID, "team/bot")
		if err != nil || !slices.Equal(bot.Sharing, []string{"other"}) {
			t.Errorf("before it is stopped: %+v, %v", bot, err)
		}
		stop, err := o.Owner.KillAgent(ctx, o.ID, "team/bot", "it deletes the wrong things", second.ID)
		if err != nil || len(stop.Keys) != 2 || !slices.Contains(stop.Keys, key.ID) ||
			!slices.Equal(stop.Agents, []string{"other"}) || stop.Index == 0 {
			t.Fatalf("%+v, %v", stop, err)
		}
		for _, secret := range []string{key.APIKey, second.APIKey} {
			said := decide(t, o, secret, "a-new-name")
			if said["allowed"] == true || !strings.Contains(said["reason"].(string), "stopped") ||
				strings.Contains(said["reason"].(string), "deletes") {
				t.Errorf("a stopped key is answered %v", said)
			}
		}
		again, err := o.Owner.KillAgent(ctx, o.ID, "team/bot", "again")
		if err != nil || again.Index != stop.Index {
			t.Errorf("stopped twice: %+v, %v", again, err)
		}
		agent := o.Public.WithKey(key.APIKey)
		if status, err := agent.AgentStatus(ctx, "", "team/bot"); err != nil || status != "killed" {
			t.Errorf("%q, %v", status, err)
		}
		stops, err := o.Owner.Stops(ctx, o.ID)
		if err != nil || len(stops) != 1 || stops[0].Reason != "it deletes the wrong things" {
			t.Errorf("%+v, %v", stops, err)
		}
		entry, err := o.Owner.LogEntries(ctx, o.ID, client.LogFilter{Action: "agent.killed"})
		if err != nil || len(entry.Items) != 1 || entry.Items[0].Index != stop.Index {
			t.Errorf("%+v, %v", entry, err)
		}
		index, err := o.Owner.ReviveAgent(ctx, o.ID, "team/bot", "explained")
		if err != nil || index <= stop.Index {
			t.Errorf("%d, %v", index, err)
		}
		if said := decide(t, o, key.APIKey, "team/bot"); strings.Contains(said["reason"].(string), "stopped") {
			t.Errorf("a revived agent is answered %v", said)
		}
	})
}

func TestWhoMayNotKill(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		key := o.AgentKey(o.Owner, o.ID)
		decide(t, o, key.APIKey, "bot")
		agent, approver := o.Public.WithKey(key.APIKey), o.Join(o.Owner, o.ID, "approver")
		member, outsider := o.Join(o.Owner, o.ID, "member"), o.Person("outsider")
		for name, c := range map[string]struct {
			by   *client.Client
			want int
		}{
			"a key": {agent, 401}, "an approver": {approver.Client, 403}, "a member": {member.Client, 403},
			"an outsider": {outsider.Client, 403}, "nobody": {o.Public, 401},
		} {
			for what, call := range map[string]func() error{
				"kill":   func() error { _, err := c.by.KillAgent(ctx, o.ID, "bot", "r"); return err },
				"revive": func() error { _, err := c.by.ReviveAgent(ctx, o.ID, "bot", "r"); return err },
				"scope":  func() error { _, err := c.by.KillScope(ctx, o.ID, "server", "s", "r", false); return err },
			} {
				if err := call(); client.StatusOf(err) != c.want {
					t.Errorf("%s by %s: %v, want status %d", what, name, err, c.want)
				}
			}
		}
		if _, err := approver.KillAgent(ctx, o.ID, "bot", "r"); !strings.Contains(fmt.Sprint(err), "approversMayKill") {
			t.Errorf("an approver learns of no setting: %v", err)
		}
		viewer := o.Join(o.Owner, o.ID, "viewer")
		if _, err := viewer.KillAgent(ctx, o.ID, "bot", "r"); !strings.Contains(fmt.Sprint(err),
			"it takes at least the role approver, where an admin has set approversMayKill, and else admin") {
			t.Errorf("a viewer is told of a role that does not do: %v", err)
		}
		if _, err := agent.Stops(ctx, o.ID); client.StatusOf(err) != 401 {
			t.Errorf("a key reads why: %v", err)
		}
		if _, err := o.Owner.SetAgentSettings(ctx, o.ID,
			client.AgentSettings{UnregisteredMayAct: true, ApproversMayKill: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := approver.KillAgent(ctx, o.ID, "bot", "r"); err != nil {
			t.Errorf("an approver who may: %v", err)
		}
		if _, err := o.Owner.KillAgent(ctx, o.ID, "never-seen", "r"); client.StatusOf(err) != 404 {
			t.Errorf("an agent nobody has seen: %v", err)
		}
	})
}

// TestAKeyMadeElsewhereStopsToo: switching to another organization is no way out, and that organization's log says
// from where on.
func TestAKeyMadeElsewhereStopsToo(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		there := o.Organization(o.Owner, "There")
		admin := o.Join(o.Owner, there, "admin")
		terminal := o.TerminalKey(o.Owner, o.ID)
		switched, err := terminal.SwitchOrganization(ctx, there, "")
		if err != nil {
			t.Fatal(err)
		}
		decide(t, o, terminal.APIKey, "bot")
		stopped := func() bool {
			t.Helper()
			return strings.Contains(decide(t, o, switched.APIKey, "bot")["reason"].(string), "stopped")
		}
		if stopped() {
			t.Fatal("stopped before the kill")
		}
		if _, err := o.Owner.KillAgent(ctx, o.ID, "bot", "odd calls"); err != nil {
			t.Fatal(err)
		}
		if !stopped() {
			t.Error("a key that a stopped one made elsewhere still acts")
		}
		stops, err := o.Owner.Stops(ctx, there)
		if err != nil || len(stops) != 1 || stops[0].Scope != "key" || len(stops[0].Keys) != 1 ||
			strings.Contains(stops[0].Reason, "odd") {
			t.Errorf("%+v, %v", stops, err)
		}
		entries, err := o.Owner.LogEntries(ctx, there, client.LogFilter{Action: "agent.killed"})
		if err != nil || len(entries.Items) != 1 || entries.Items[0].Index != stops[0].Index {
			t.Errorf("%+v, %v", entries, err)
		}
		if _, err := admin.KillScope(ctx, there, "key", stops[0].Subject, "let it act",
			true); client.StatusOf(err) != 409 ||
			!stopped() {
			t.Errorf("lifted by one who is no owner: %v", err)
		}
		if inbox, err := admin.Notifications(ctx, there, false, client.List{}); err != nil || len(inbox.Items) != 1 ||
			!strings.Contains(inbox.Items[0].Title, "stopped with a key of another organization") {
			t.Errorf("people there were told %+v, %v", inbox, err)
		}
		if _, err := o.Owner.ReviveAgent(ctx, o.ID, "bot", "explained"); err != nil {
			t.Fatal(err)
		}
		if stopped() {
			t.Error("stopped after the revival")
		}
	})
}

// TestOwnersLiftWhatAnotherOrganizationStopped: for good, and both logs say so. A closed organization cannot.
func TestOwnersLiftWhatAnotherOrganizationStopped(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		there := o.Organization(o.Owner, "There")
		terminal := o.TerminalKey(o.Owner, o.ID)
		switched, err := terminal.SwitchOrganization(ctx, there, "")
		if err != nil {
			t.Fatal(err)
		}
		decide(t, o, terminal.APIKey, "bot")
		stopped := func(key string) bool {
			t.Helper()
			return strings.Contains(decide(t, o, key, "x")["reason"].(string), "stopped")
		}
		if _, err := o.Owner.KillAgent(ctx, o.ID, "bot", "odd calls"); err != nil || !stopped(switched.APIKey) {
			t.Fatalf("%v", err)
		}
		stops, err := o.Owner.Stops(ctx, there)
		if err != nil || len(stops) != 1 {
			t.Fatalf("%+v, %v", stops, err)
		}
		if _, err := o.Owner.KillScope(ctx, there, "key", stops[0].Subject, "it is ours", true); err != nil {
			t.Fatal(err)
		}
		if stopped(switched.APIKey) || !stopped(terminal.APIKey) {
			t.Error("the stop is lifted there, and only there")
		}
		for org, action := range map[string]string{o.ID: "agent.revived_elsewhere", there: "agent.revived"} {
			if entries, err := o.Owner.LogEntries(ctx, org, client.LogFilter{Action: action}); err != nil ||
				len(entries.Items) != 1 {
				t.Errorf("%s: %+v, %v", action, entries, err)
			}
		}
		if _, err := o.Public.WithKey(switched.APIKey).ProvisionKey(ctx, client.NewKey{Product: "p"}); err != nil {
			t.Errorf("the key makes others: %v", err)
		}
		// Who killed it does so again: the line ends where an owner has said that the key is theirs.
		if _, err := o.Owner.KillAgent(ctx, o.ID, "bot", "again"); err != nil || stopped(switched.APIKey) {
			t.Errorf("stopped again from elsewhere: %v", err)
		}
	})
}

// TestTheStopThatWasSeenIsLifted: another one, which came meanwhile, is not.
func TestTheStopThatWasSeenIsLifted(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		owner := testserver.Credentials(o.Owner.Client)
		lift := func(member string) testserver.Answer {
			return o.Request(t, "POST", "/organization/"+o.ID+"/kill-switch",
				`{"scope":"tool","subject":"bank.pay","reason":"r"`+member+`}`, owner...)
		}
		first, err := o.Owner.KillScope(ctx, o.ID, "tool", "bank.pay", "one", false)
		if err != nil {
			t.Fatal(err)
		}
		seen := fmt.Sprintf(`,"lift":true,"index":%d`, first.Index)
		if _, err := o.Owner.KillScope(ctx, o.ID, "tool", "bank.pay", "over", true); err != nil {
			t.Fatal(err)
		}
		second, err := o.Owner.KillScope(ctx, o.ID, "tool", "bank.pay", "two", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := lift(seen); got.Status != 409 || !strings.Contains(string(got.Body),
			fmt.Sprintf("the stop of entry %d stands now", second.Index)) {
			t.Errorf("a stop that was not seen: %d %s", got.Status, got.Body)
		}
		if stops, err := o.Owner.Stops(ctx, o.ID); err != nil || len(stops) != 1 {
			t.Errorf("it was lifted: %+v, %v", stops, err)
		}
		if got := lift(fmt.Sprintf(`,"lift":true,"index":%d`, second.Index)); got.Status != 200 {
			t.Errorf("the stop that was seen: %d %s", got.Status, got.Body)
		}
		if got := lift(seen); got.Status != 409 || !strings.Contains(string(got.Body), "it is not stopped") {
			t.Errorf("nothing is stopped: %d %s", got.Status, got.Body)
		}
		if got := lift(`,"index":1`); got.Status != 400 || !strings.Contains(string(got.Body), "index") {
			t.Errorf("a stop with an index: %d %s", got.Status, got.Body)
		}
	})
}
