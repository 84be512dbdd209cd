package agents_test

import (
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestATripStopsAndNotifies: once, in the inbox, by mail and by webhook, and a person lifts it.
func TestATripStopsAndNotifies(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		key, other := o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		member := o.Join(o.Owner, o.ID, "member")
		hook, err := o.Owner.CreateWebhook(ctx, o.ID, client.NewWebhook{
			Name: "ops", Kind: "generic", URL: "https://hooks.example.org/x", Events: []string{"agent.tripped"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{
			AgentID: "billing", Keys: []string{key.ID}, Trips: &client.Trips{DenialsPerMinute: new(int64(3))},
		}); err != nil {
			t.Fatal(err)
		}
		for range 9 { // nothing is allowed here, so that each call is denied
			decide(t, o, key.APIKey, "billing")
			decide(t, o, other.APIKey, "billing") // a stranger trips nobody
		}
		stops, err := o.Owner.Stops(ctx, o.ID)
		if err != nil || len(stops) != 1 || stops[0].Trip != "denialsPerMinute" || stops[0].StoppedBy != "" ||
			stops[0].Scope != "agent" || stops[0].Subject != "billing" ||
			!strings.Contains(stops[0].Reason, "3 denials within a minute") {
			t.Fatalf("stopped: %+v, %v", stops, err)
		}
		if said := decide(t, o, key.APIKey, "x"); strings.Contains(said["reason"].(string), "denials") ||
			!strings.Contains(said["reason"].(string), "stopped") {
			t.Errorf("a tripped key is answered %v", said)
		}
		told, err := o.Owner.Notifications(ctx, o.ID, false, client.List{})
		if err != nil || len(told.Items) != 1 || told.Items[0].Kind != "agent.tripped" ||
			told.Items[0].Title != "Agent billing was stopped by a trip" {
			t.Errorf("%+v, %v", told, err)
		}
		if told, err := member.Notifications(ctx, o.ID, false, client.List{}); err != nil || len(told.Items) != 0 {
			t.Errorf("a member is notified: %+v, %v", told, err)
		}
		testserver.Soon(t, "the owner is mailed", func() bool {
			return strings.Contains(o.LastMail(o.Owner.Email), o.URL+"/ui/agents/billing")
		})
		sent, err := o.Owner.WebhookDeliveries(ctx, o.ID, hook.ID, "", client.List{})
		if err != nil || len(sent.Items) != 1 || sent.Items[0].Kind != "agent.tripped" {
			t.Errorf("deliveries: %+v, %v", sent.Items, err)
		}
		if _, err := o.Public.WithKey(key.APIKey).ReviveAgent(ctx, o.ID, "billing", "r"); client.StatusOf(err) != 401 {
			t.Errorf("a key lifts a trip: %v", err)
		}
		if _, err := o.Owner.ReviveAgent(ctx, o.ID, "billing", "explained"); err != nil {
			t.Fatal(err)
		}
		if said := decide(t, o, key.APIKey, "billing"); strings.Contains(said["reason"].(string), "stopped") {
			t.Errorf("a revived agent is answered %v", said)
		}
	})
}

// TestTripsAreSettings of the organization and of each agent, which only people set.
func TestTripsAreSettings(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		key := o.AgentKey(o.Owner, o.ID)
		set, err := o.Owner.SetAgentSettings(ctx, o.ID,
			client.AgentSettings{UnregisteredMayAct: true, Trips: &client.Trips{
				CostPerDay: new(12.5), FindingsPerDay: map[string]int64{"sequence_gap": 3},
			}})
		if err != nil || set.Trips == nil || *set.Trips.CostPerDay != 12.5 || set.Trips.CallsPerMinute != nil {
			t.Fatalf("%+v, %v", set, err)
		}
		// Who does not speak of trips leaves them as they are.
		if _, err := o.Owner.SetAgentSettings(ctx, o.ID, client.AgentSettings{UnregisteredMayAct: true}); err != nil {
			t.Fatal(err)
		}
		read, err := o.Owner.AgentSettings(ctx, o.ID)
		if err != nil || read.Trips == nil || read.Trips.FindingsPerDay["sequence_gap"] != 3 {
			t.Errorf("%+v, %v", read, err)
		}
		if read, err = o.Owner.SetAgentSettings(ctx, o.ID,
			client.AgentSettings{UnregisteredMayAct: true, Trips: &client.Trips{}}); err != nil || read.Trips != nil {
			t.Errorf("without trips: %+v, %v", read, err)
		}
		_, err = o.Owner.SetAgentSettings(ctx, o.ID, client.AgentSettings{Trips: &client.Trips{
			FindingsPerDay: map[string]int64{"unheard-of": 1},
		}})
		if client.StatusOf(err) != 400 || !strings.Contains(err.Error(), "trips.findingsPerDay") {
			t.Errorf("an unknown kind: %v", err)
		}
		byKey := o.Public.WithKey(key.APIKey)
		trips := &client.Trips{CallsPerMinute: new(int64(0))}
		if _, err := byKey.RegisterAgent(ctx, "", client.NewAgent{
			AgentID: "mine", Trips: trips,
		}); client.StatusOf(err) != 403 {
			t.Errorf("a key sets trips: %v", err)
		}
		if _, err := byKey.SetAgentSettings(ctx, o.ID, client.AgentSettings{
			Trips: trips,
		}); client.StatusOf(err) != 401 {
			t.Errorf("a key sets the organization's trips: %v", err)
		}
		if _, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{AgentID: "mine", Trips: trips}); err != nil {
			t.Fatal(err)
		}
		made, err := o.Owner.Agent(ctx, o.ID, "mine")
		if err != nil || made.Trips == nil || *made.Trips.CallsPerMinute != 0 {
			t.Errorf("%+v, %v", made, err)
		}
		changed, err := o.Owner.UpdateAgent(ctx, o.ID, "mine", map[string]any{"trips": map[string]any{}})
		if err != nil || changed.Trips != nil {
			t.Errorf("%+v, %v", changed, err)
		}
	})
}

// TestAKeyIsStopped by its id, with what came from it.
func TestAKeyIsStopped(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		key, other := o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		stop, err := o.Owner.KillScope(ctx, o.ID, "key", key.ID, "lost", false)
		if err != nil || len(stop.Keys) != 1 || stop.Keys[0] != key.ID {
			t.Fatalf("%+v, %v", stop, err)
		}
		if said := decide(t, o, key.APIKey, "x"); !strings.Contains(said["reason"].(string), "stopped") {
			t.Errorf("%v", said)
		}
		if said := decide(t, o, other.APIKey, "x"); strings.Contains(said["reason"].(string), "stopped") {
			t.Errorf("%v", said)
		}
		if _, err := o.Owner.KillScope(ctx, o.ID, "key", o.ID, "no key", false); client.StatusOf(err) != 404 {
			t.Errorf("what is no key: %v", err)
		}
		if _, err := o.Owner.KillScope(ctx, o.ID, "key", key.ID, "found", true); err != nil {
			t.Error(err)
		}
		if said := decide(t, o, key.APIKey, "x"); strings.Contains(said["reason"].(string), "stopped") {
			t.Errorf("%v", said)
		}
	})
}
