package agents_test

import (
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

const readsOnly = "version: v1\nname: reads\nrules:\n" +
	"  - {id: read, effect: allow, tools: [\"fs.*\"]}\n" +
	"  - {id: etc, effect: deny, tools: [\"fs.write\"], when: 'args.path == \"/etc\"'}\n"

// TestLeases: given to a key, listed to people, ended by a kill, and what is reported under one is checked against it.
func TestLeases(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		o.ActivePolicy(o.Owner, o.ID, readsOnly)
		issued, second := o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		key, other := o.Public.WithKey(issued.APIKey), o.Public.WithKey(second.APIKey)
		ask := client.LeaseRequest{AgentID: "bot", Tools: []client.LeaseTool{
			{Server: "fs", Tool: "read"}, {Server: "fs", Tool: "write"},
		}}
		if _, err := key.Lease(ctx, ask); client.StatusOf(err) != 403 ||
			!strings.Contains(err.Error(), "gives no leases") {
			t.Errorf("leases are off: %v", err)
		}
		settings, err := o.Owner.SetAgentSettings(ctx, o.ID,
			client.AgentSettings{UnregisteredMayAct: true, LeaseSeconds: new(int64(300))})
		if err != nil || *settings.LeaseSeconds != 300 {
			t.Fatalf("%+v, %v", settings, err)
		}
		given, err := key.Lease(ctx, ask)
		if err != nil || len(given.Tools) != 1 || given.Tools[0].Tool != "read" || len(given.Refused) != 1 ||
			given.Refused[0].Tool != "write" || given.KeyID != issued.ID || given.Lease == "" {
			t.Fatalf("%+v, %v", given, err)
		}
		listed, err := o.Owner.Leases(ctx, o.ID)
		if err != nil || len(listed) != 1 || listed[0].LeaseID != given.LeaseID || listed[0].Lease != "" {
			t.Errorf("%+v, %v", listed, err)
		}
		report := func(by *client.Client, use int, change map[string]any) {
			t.Helper()
			row := map[string]any{
				"mcp": "fs", "tool": "read", "agent_id": "bot", "status": "success", "lease": given.Lease,
				"lease_use":   use,
				"executed_at": time.Now().UTC().Format(time.RFC3339Nano), "input": map[string]any{"n": use},
			}
			for k, v := range change {
				row[k] = v
			}
			if _, err := by.ReportExecution(ctx, row); err != nil {
				t.Fatal(err)
			}
		}
		report(key, 1, nil)
		report(key, 2, map[string]any{"lease": given.LeaseID})
		report(key, 2, map[string]any{"input": "replayed"})
		report(key, 3, map[string]any{"tool": "write"})
		report(key, 4, map[string]any{"executed_at": given.ExpiresAt.Add(time.Hour).Format(time.RFC3339)})
		report(key, 5, map[string]any{"lease": given.Lease[:len(given.Lease)-9] + "forged000"})
		report(other, 6, nil)
		decide(t, o, issued.APIKey, "bot")
		stop, err := o.Owner.KillAgent(ctx, o.ID, "bot", "odd calls", issued.ID)
		if err != nil || stop.LeasesEndAt == nil || !stop.LeasesEndAt.Equal(given.ExpiresAt) {
			t.Errorf("%+v, %v", stop, err)
		}
		report(key, 7, nil) // a stopped key still reports
		found, err := o.Owner.Findings(ctx, o.ID, "execution_outside_lease", client.List{})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{
			"kill switch", "another key", "not given here", "had ended", "not permit this tool",
			"another call was reported",
		} {
			if i >= len(found.Items) || !strings.Contains(found.Items[i].Detail, want) {
				t.Errorf("finding %d is not about %q: %+v", i, want, found.Items)
			}
		}
		if len(found.Items) != 6 {
			t.Errorf("%d findings", len(found.Items))
		}
		if _, err := key.Lease(ctx, ask); client.StatusOf(err) != 403 || !strings.Contains(err.Error(), "stopped") {
			t.Errorf("a stopped key gets a lease: %v", err)
		}
		for name, c := range map[string]struct {
			by   *client.Client
			want int
		}{
			"the owner": {o.Owner.Client, 401}, "nobody": {o.Public, 401},
			"a key without the scope": {o.Public.WithKey(o.DraftKey(o.Owner, o.ID).APIKey), 403},
		} {
			if _, err := c.by.Lease(ctx, ask); client.StatusOf(err) != c.want {
				t.Errorf("a lease for %s: %v, want status %d", name, err, c.want)
			}
		}
		for name, c := range map[string]struct {
			by   *client.Client
			want int
		}{
			"a key": {key, 401}, "nobody": {o.Public, 401}, "an outsider": {o.Person("outsider").Client, 403},
		} {
			if _, err := c.by.Leases(ctx, o.ID); client.StatusOf(err) != c.want {
				t.Errorf("%s lists leases: %v, want status %d", name, err, c.want)
			}
		}
		fresh := o.Public.WithKey(o.AgentKey(o.Owner, o.ID).APIKey) // the other key has named the agent, and is stopped
		if _, err := fresh.Lease(ctx, client.LeaseRequest{
			Tools: ask.Tools, Seconds: 301,
		}); client.StatusOf(err) != 400 {
			t.Errorf("six minutes: %v", err)
		}
		if _, err := o.Owner.SetAgentSettings(ctx, o.ID,
			client.AgentSettings{LeaseSeconds: new(int64(301))}); client.StatusOf(err) != 400 {
			t.Errorf("six minutes for everybody: %v", err)
		}
	})
}
