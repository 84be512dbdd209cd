package agents_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// decide asks for a decision of a key that names an agent.
func decide(t *testing.T, o *testserver.Org, key, agentID string) map[string]any {
	t.Helper()
	body := testserver.JSON(t, map[string]any{"tool_name": "read", "agent_id": agentID, "tool_input": map[string]any{}})
	answer := o.Request(t, "POST", "/iap/enforce", body, "X-Api-Key", key)
	var said map[string]any
	if err := json.Unmarshal([]byte(answer.Body), &said); err != nil {
		t.Fatalf("%d %s", answer.Status, answer.Body)
	}
	return said
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		key, other := o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		const id = "team/billing bot?" // client text: escaped in the path
		decide(t, o, key.APIKey, id)
		seen, err := o.Owner.Agent(ctx, o.ID, id)
		if err != nil || seen.Status != "unregistered" || !slices.Equal(seen.SeenKeys, []string{key.ID}) ||
			seen.OwnerID != nil || seen.LastSeenAt == nil {
			t.Fatalf("%+v, %v", seen, err)
		}
		made, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{
			AgentID:     id,
			Name:        "Billing",
			Product:     "books",
			Environment: "production",
			Description: "Sends invoices",
			Keys:        []string{key.ID},
			PublicKey:   "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
		})
		if err != nil || made.Status != "active" || *made.OwnerID != o.Owner.ID || made.Keys[0] != key.ID ||
			*made.PublicKey != "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" {
			t.Fatalf("%+v, %v", made, err)
		}
		if said := decide(t, o, other.APIKey, id); !strings.Contains(said["reason"].(string), "bound to other keys") {
			t.Errorf("a stranger is answered %v", said)
		}
		changed, err := o.Owner.UpdateAgent(ctx, o.ID, id, map[string]any{"keys": []string{other.ID}})
		if err != nil || !slices.Equal(changed.Keys, []string{other.ID}) || changed.Name != "Billing" {
			t.Errorf("%+v, %v", changed, err)
		}
		changed, err = o.Owner.UpdateAgent(ctx, o.ID, id, map[string]any{"addKeys": []string{key.ID, other.ID}})
		if err != nil || len(changed.Keys) != 2 || !slices.Contains(changed.Keys, key.ID) {
			t.Errorf("further keys: %+v, %v", changed, err)
		}
		_, err = o.Owner.UpdateAgent(ctx, o.ID, id, map[string]any{"keys": []string{}, "addKeys": []string{key.ID}})
		if err == nil || !strings.Contains(err.Error(), "must not be given beside keys") {
			t.Errorf("all keys and further ones: %v", err)
		}
		suspended, err := o.Owner.SetAgentStatus(ctx, o.ID, id, "suspended", "odd calls")
		if err != nil || suspended.Status != "suspended" || suspended.SuspendedFor != "odd calls" {
			t.Errorf("%+v, %v", suspended, err)
		}
		if said := decide(t, o, other.APIKey, "x"); !strings.Contains(said["reason"].(string), "is suspended") {
			t.Errorf("the key of a suspended agent is answered %v", said)
		}
		listed, err := o.Owner.Agents(ctx, o.ID, client.AgentFilter{Status: "suspended"})
		if err != nil || len(listed.Items) != 1 || listed.Items[0].AgentID != id {
			t.Errorf("%+v, %v", listed, err)
		}
	})
}

// TestAKeyRegistersWithoutBinding: nothing that a key says gives it rights, or takes an id from others.
func TestAKeyRegistersWithoutBinding(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		key := o.AgentKey(o.Owner, o.ID)
		agent := o.Public.WithKey(key.APIKey)
		made, err := agent.RegisterAgent(ctx, "", client.NewAgent{AgentID: "worker", Name: "Worker"})
		if err != nil || made.Status != "pending" || len(made.Keys) != 0 || *made.OwnerID != o.Owner.ID {
			t.Fatalf("%+v, %v", made, err)
		}
		if again, err := agent.RegisterAgent(ctx, "", client.NewAgent{AgentID: "worker", Name: "Other"}); err != nil ||
			again.Name != "Worker" {
			t.Errorf("registering again: %+v, %v", again, err)
		}
		listed, err := o.Owner.Agents(ctx, o.ID, client.AgentFilter{Status: "pending"})
		if err != nil || len(listed.Items) != 1 || listed.Items[0].AgentID != "worker" {
			t.Errorf("%+v, %v", listed, err)
		}
		if status, err := agent.AgentStatus(ctx, "", "worker"); err != nil || status != "unregistered" {
			t.Errorf("%q, %v", status, err)
		}
		if _, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{AgentID: "registered"}); err != nil {
			t.Fatal(err)
		}
		member := o.Join(o.Owner, o.ID, "member")
		theirs := o.Public.WithKey(o.AgentKey(member, o.ID).APIKey)
		if _, err := theirs.RegisterAgent(ctx, "", client.NewAgent{AgentID: "worker"}); err != nil {
			t.Errorf("an id that another key proposes: %v", err)
		}
		for name, c := range map[string]struct {
			call func() error
			want int
		}{
			"binding keys": {func() error {
				_, err := agent.RegisterAgent(ctx, "", client.NewAgent{AgentID: "b", Keys: []string{key.ID}})
				return err
			}, 403},
			"another owner": {func() error {
				_, err := agent.RegisterAgent(ctx, "", client.NewAgent{AgentID: "c", OwnerID: member.ID})
				return err
			}, 403},
			"another's agent": {func() error {
				_, err := theirs.RegisterAgent(ctx, "", client.NewAgent{AgentID: "registered"})
				return err
			}, 409},
			"a member": {func() error {
				_, err := member.RegisterAgent(ctx, o.ID, client.NewAgent{AgentID: "d"})
				return err
			}, 403},
			"reading agents": {func() error { _, err := agent.Agents(ctx, "", client.AgentFilter{}); return err }, 401},
			"suspending": {func() error {
				_, err := agent.SetAgentStatus(ctx, "", "worker", "active", "r")
				return err
			}, 401},
		} {
			if err := c.call(); client.StatusOf(err) != c.want {
				t.Errorf("%s: %v, want status %d", name, err, c.want)
			}
		}
	})
}

func TestWrongAgents(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		elsewhere := o.Person("elsewhere")
		theirs := o.AgentKey(elsewhere, o.Organization(elsewhere, "Elsewhere"))
		for field, body := range map[string]string{
			"agentId":     `{"agentId":"a\u0007"}`,
			"ownerId":     `{"agentId":"a","ownerId":"` + elsewhere.ID + `"}`,
			"keys":        `{"agentId":"a","keys":["` + theirs.ID + `"]}`,
			"publicKey":   `{"agentId":"a","publicKey":"QUJD"}`,
			"environment": `{"agentId":"a","environment":"moon"}`,
			"name":        `{"agentId":"a","name":"a\u0007"}`,
		} {
			answer := o.Request(t, "POST", "/agent/register?organizationId="+o.ID, body,
				testserver.Credentials(o.Owner.Client)...)
			if fields := answer.ErrorFields(t, 400); !slices.Equal(fields, []string{field}) {
				t.Errorf("%s: complains of %q: %s", field, fields, answer.Body)
			}
		}
		if _, err := o.Owner.Agent(t.Context(), o.ID, "a"); client.StatusOf(err) != 404 {
			t.Errorf("an agent nobody registered: %v", err)
		}
	})
}

// TestTheAgentsOfAMemberWhoLeavesAreSuspended: and those who manage agents are told.
func TestTheAgentsOfAMemberWhoLeavesAreSuspended(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		member := o.Join(o.Owner, o.ID, "member")
		hook, err := o.Owner.CreateWebhook(ctx, o.ID, client.NewWebhook{
			Name: "ops", Kind: "generic", URL: "https://hooks.example.org/x", Events: []string{"agent.suspended"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{
			AgentID: "theirs", OwnerID: member.ID,
		}); err != nil {
			t.Fatal(err)
		}
		if err := o.Owner.RemoveMember(ctx, o.ID, member.ID); err != nil {
			t.Fatal(err)
		}
		left, err := o.Owner.Agent(ctx, o.ID, "theirs")
		if err != nil || left.Status != "suspended" || left.SuspendedFor != "its owner left the organization" {
			t.Errorf("%+v, %v", left, err)
		}
		told, err := o.Owner.Notifications(ctx, o.ID, false, client.List{})
		if err != nil || len(told.Items) != 1 || told.Items[0].Kind != "agent.suspended" ||
			told.Items[0].Title != "Agent theirs was suspended" || told.Items[0].SubjectID != "theirs" {
			t.Errorf("%+v, %v", told, err)
		}
		testserver.Soon(t, "the owner is mailed", func() bool {
			return strings.Contains(o.LastMail(o.Owner.Email), o.URL+"/ui/agents/theirs")
		})
		sent, err := o.Owner.WebhookDeliveries(ctx, o.ID, hook.ID, "", client.List{})
		if err != nil || len(sent.Items) != 1 || sent.Items[0].Kind != "agent.suspended" {
			t.Errorf("deliveries: %+v, %v", sent.Items, err)
		}
		if _, err := o.Owner.SetAgentStatus(ctx, o.ID, "theirs", "active", "r"); client.StatusOf(err) != 400 {
			t.Errorf("active without an owner: %v", err)
		}
	})
}

// TestBootstrapNamesTheAgentsOfAKey: SDKs send the name of the only agent as its id.
func TestBootstrapNamesTheAgentsOfAKey(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		key, other := o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		for _, n := range []client.NewAgent{
			{AgentID: "billing", Name: "Billing", Keys: []string{key.ID}}, {AgentID: "loose", Name: "Loose"},
		} {
			if _, err := o.Owner.RegisterAgent(ctx, o.ID, n); err != nil {
				t.Fatal(err)
			}
		}
		for secret, want := range map[string]string{
			key.APIKey:   `"agents":[{"agentId":"billing","name":"billing"}]`,
			other.APIKey: `"agents":[{"agentId":"loose","name":"loose"}]`,
		} {
			answer := o.Request(t, "POST", "/iap/sdk/bootstrap", `{}`, "X-Api-Key", secret)
			if !strings.Contains(string(answer.Body), want) {
				t.Errorf("%s, want %s", answer.Body, want)
			}
		}
	})
}

// TestWhatAnAgentDoes: its plan, its calls and its cost today, and the last 24 hours.
func TestWhatAnAgentDoes(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		// half past: no hour turns within the test
		o.Advance(o.Now().Truncate(time.Hour).Add(90 * time.Minute).Sub(o.Now()))
		o.Owner = o.SignIn(o.Owner.Email)
		key := o.AgentKey(o.Owner, o.ID)
		for range 3 {
			decide(t, o, key.APIKey, "billing")
		}
		decide(t, o, key.APIKey, "travel")
		quiet, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{AgentID: "quiet"})
		if err != nil || quiet.Today != nil {
			t.Fatalf("%+v, %v", quiet, err)
		}
		plan := o.Declared(key.APIKey, client.PlanRequest{
			Plan: json.RawMessage(testserver.OnePlan), AgentID: "billing", ExpiresIn: 600,
		})
		of := func(id string) (a client.Agent) {
			t.Helper()
			listed, err := o.Owner.Agents(ctx, o.ID, client.AgentFilter{})
			if err != nil {
				t.Fatal(err)
			}
			one, err := o.Owner.Agent(ctx, o.ID, id)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range listed.Items {
				if a.AgentID == id {
					a.SeenKeys, a.Sharing = one.SeenKeys, one.Sharing // not in lists
					if diff := cmp.Diff(one, a); diff != "" {
						t.Errorf("%s alone and in the list (-one +list):\n%s", id, diff)
					}
				}
			}
			return one
		}
		testserver.Soon(t, "the calls of billing are counted", func() bool {
			a, err := o.Owner.Agent(ctx, o.ID, "billing")
			return err == nil && a.Today != nil && a.Today.Calls == 3
		})
		billing := of("billing")
		if billing.Today.Denials != 3 || billing.Today.Holds != 0 || billing.Today.CostUSD != nil ||
			len(billing.Sparkline) != 24 || billing.Sparkline[23] != 3 || billing.Sparkline[22] != 0 {
			t.Errorf("%+v %+v", billing, billing.Today)
		}
		if billing.CurrentPlan == nil || billing.CurrentPlan.PlanID != plan.PlanID ||
			billing.CurrentPlan.KeyID != key.ID {
			t.Errorf("the plan of billing is %+v, want %s", billing.CurrentPlan, plan.PlanID)
		}
		if a := of("quiet"); a.Today == nil || a.Today.Calls != 0 || a.CurrentPlan != nil || a.Sparkline[23] != 0 {
			t.Errorf("%+v %+v", a, a.Today)
		}
		// What it cost is known once somebody reports it.
		if _, err := o.Public.WithKey(key.APIKey).Ingest(ctx, client.Spans{Product: "p", Batches: []json.RawMessage{
			json.RawMessage(`{"trace":{"id":"` + database.NewID() +
				`","name":"t","status":"ok","agentId":"billing","startTime":"` +
				o.Ago(time.Second) + `"},"spans":[{"id":"` + database.NewID() +
				`","kind":"generation","name":"g","startTime":"` +
				o.Ago(time.Second) + `","attributes":{"model":"m","inputTokens":5,"costUsd":0.25}}]}`),
		}}); err != nil {
			t.Fatal(err)
		}
		if a := of("billing"); a.Today.CostUSD == nil || *a.Today.CostUSD != 0.25 {
			t.Errorf("%+v", a.Today)
		}
		// A kill ends the plan, also after it is lifted.
		if _, err := o.Owner.KillAgent(ctx, o.ID, "billing", "odd calls"); err != nil {
			t.Fatal(err)
		}
		if a := of("billing"); a.Status != "killed" || a.CurrentPlan != nil {
			t.Errorf("killed: %+v", a)
		}
		if _, err := o.Owner.ReviveAgent(ctx, o.ID, "billing", "explained"); err != nil {
			t.Fatal(err)
		}
		if a := of("billing"); a.Status == "killed" || a.CurrentPlan != nil {
			t.Errorf("revived: %+v", a)
		}
		// Another organization has an agent of this id, and sees nothing of this one.
		elsewhere := o.Organization(o.Owner, "Elsewhere")
		if _, err := o.Owner.RegisterAgent(ctx, elsewhere, client.NewAgent{AgentID: "billing"}); err != nil {
			t.Fatal(err)
		}
		if a, err := o.Owner.Agent(ctx, elsewhere, "billing"); err != nil || a.Today.Calls != 0 ||
			a.Today.CostUSD != nil ||
			a.CurrentPlan != nil {
			t.Errorf("%+v, %v", a, err)
		}
	})
}
