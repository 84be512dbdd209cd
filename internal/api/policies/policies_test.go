package policies_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

const paymentsYAML = `# Who may move money.
version: v1
name: payments
default: deny
rules:
  - id: small   # cents do not matter
    effect: allow
    tools: ["bank.send_money"]
    when: args.amount <= 1000 && args.currency == "EUR"
  - id: large
    effect: hold
    tools: ["bank.send_money"]
    when: args.amount > 1000
    approvers: {role: approver, count: 1}
    message: Payments over 1000 need a person.
  - id: pace
    effect: deny
    tools: ["*"]
    limit: {cost: 5.00, per: 1h, by: agent}
`

// send is a call of send_money with arguments.
func send(arguments string) client.ToolCall {
	return client.ToolCall{Server: "bank", Tool: "send_money", Arguments: json.RawMessage(arguments)}
}

func check(b *testserver.Org, c *client.Client, call client.ToolCall) client.Access {
	b.T.Helper()
	got, err := c.CheckAccess(b.T.Context(), b.ID, call)
	if err != nil {
		b.T.Fatalf("check access: %v", err)
	}
	if got.Allowed != (got.Decision == "allow") {
		b.T.Errorf("allowed is %t beside %q", got.Allowed, got.Decision)
	}
	return got
}

// TestPolicyLife goes from a draft to its deletion.
func TestPolicyLife(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, owner := t.Context(), b.Owner
		made, err := owner.CreatePolicy(ctx, b.ID, client.YAMLDocument, paymentsYAML)
		if err != nil || made.Status != "draft" || made.PolicyVersion != 1 || made.ActiveVersion != nil ||
			made.OrganizationID != b.ID {
			t.Fatalf("created %+v, %v", made.PolicyState, err)
		}
		want := []client.PolicyRule{
			{
				ID:     "small",
				Effect: "allow",
				Tools:  []string{"bank.send_money"},
				When:   `args.amount <= 1000 && args.currency == "EUR"`,
			},
			{ID: "large", Effect: "hold", Tools: []string{"bank.send_money"}, When: `args.amount > 1000`,
				Approvers: &client.PolicyApprovers{Role: "approver", Count: 1},
				Message:   "Payments over 1000 need a person."},
			{
				ID:     "pace",
				Effect: "deny",
				Tools:  []string{"*"},
				Limit:  &client.PolicyLimit{Cost: 5, Per: "1h", By: "agent"},
			},
		}
		if diff := cmp.Diff(want, made.Rules); diff != "" || made.Version != "v1" || made.Name != "payments" ||
			made.Default != "deny" {
			t.Errorf("the document came back as %+v (-want +got rules):\n%s", made, diff)
		}
		if got := check(b, b.Agent, send(`{"amount":1,"currency":"EUR"}`)); got.Allowed ||
			!strings.Contains(got.Reason, "no active policy") || got.MatchedPolicy != nil {
			t.Errorf("by a draft: %+v", got)
		}
		on, err := owner.ActivatePolicy(ctx, made.ID, 0)
		if err != nil || on.Status != "active" || on.ActiveVersion == nil || *on.ActiveVersion != 1 {
			t.Fatalf("activated %+v, %v", on.PolicyState, err)
		}
		if got := check(b, b.Agent, send(`{"amount":1,"currency":"EUR"}`)); !got.Allowed || got.Rule != "small" ||
			got.MatchedPolicy == nil || got.MatchedPolicy.ID != made.ID {
			t.Errorf("active: %+v", got)
		}
		next, err := owner.UpdatePolicy(ctx, made.ID, client.YAMLDocument,
			strings.Replace(paymentsYAML, "effect: allow", "effect: ask", 1), 1)
		if err != nil || next.PolicyVersion != 2 || *next.ActiveVersion != 1 {
			t.Fatalf("updated %+v, %v", next.PolicyState, err)
		}
		if got := check(b, b.Agent, send(`{"amount":1,"currency":"EUR"}`)); !got.Allowed {
			t.Errorf("after an edit: %+v", got)
		}
		changes, err := owner.DiffPolicy(ctx, made.ID, 1, 2)
		if diff := cmp.Diff([]client.PolicyChange{{
			Kind:  "changed",
			Rule:  "small",
			Field: "effect",
			Old:   "allow",
			New:   "ask",
		}}, changes); err != nil || diff != "" {
			t.Errorf("diff (%v, -want +got):\n%s", err, diff)
		}
		if _, err := owner.ActivatePolicy(ctx, made.ID, 2); err != nil {
			t.Fatal(err)
		}
		if got := check(b, b.Agent, send(`{"amount":1,"currency":"EUR"}`)); got.Decision != "ask" ||
			got.MatchedPolicy.Version != 2 {
			t.Errorf("after its activation: %+v", got)
		}
		back, err := owner.RollbackPolicy(ctx, made.ID, 1)
		if err != nil || back.PolicyVersion != 3 || *back.ActiveVersion != 3 || *back.RestoredFrom != 1 {
			t.Errorf("rolled back %+v, %v", back.PolicyState, err)
		}
		if got := check(b, b.Agent, send(`{"amount":1,"currency":"EUR"}`)); !got.Allowed ||
			got.MatchedPolicy.Version != 3 {
			t.Errorf("after the rollback: %+v", got)
		}
		testserver.WantStatus(t, "delete an active policy", owner.DeletePolicy(ctx, made.ID), http.StatusConflict)
		if off, err := owner.DeactivatePolicy(ctx, made.ID); err != nil || off.Status != "inactive" ||
			off.ActiveVersion != nil {
			t.Errorf("deactivated %+v, %v", off, err)
		}
		if got := check(b, b.Agent, send(`{"amount":1,"currency":"EUR"}`)); got.Allowed {
			t.Errorf("inactive: %+v", got)
		}
		if err := owner.DeletePolicy(ctx, made.ID); err != nil {
			t.Errorf("delete: %v", err)
		}
		_, err = owner.Policy(ctx, made.ID)
		testserver.WantStatus(t, "a deleted policy", err, http.StatusNotFound)
		list, err := owner.Policies(ctx, client.PolicyFilter{OrganizationID: b.ID}, client.List{})
		if err != nil || len(list.Items) != 0 {
			t.Errorf("listed %+v, %v", list.Items, err)
		}
	})
}

func TestPolicyVersionsOverHTTP(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, owner := t.Context(), b.Owner
		id := b.Draft(owner, b.ID, "pay")
		drafter := b.Public.WithKey(b.DraftKey(owner, b.ID).APIKey)
		if _, err := drafter.PatchPolicy(ctx, id, client.YAMLDocument, testserver.PolicyText("pay", "allow"),
			0); err != nil {
			t.Fatal(err)
		}
		_, err := owner.UpdatePolicy(ctx, id, client.YAMLDocument, testserver.PolicyText("pay", "hold"), 1)
		testserver.WantStatus(t, "replace a version that is not the latest", err, http.StatusConflict)
		versions, err := owner.PolicyVersions(ctx, id, client.List{Limit: 1})
		if err != nil || len(versions.Items) != 1 || versions.Items[0].PolicyVersion != 2 ||
			versions.Items[0].Author.Kind != "key" || !versions.HasMore {
			t.Fatalf("versions %+v, %v", versions, err)
		}
		rest, err := owner.PolicyVersions(ctx, id, client.List{Cursor: versions.NextCursor})
		if err != nil || len(rest.Items) != 1 || rest.Items[0].Author != (client.Author{Kind: "user", ID: owner.ID}) {
			t.Errorf("the rest is %+v, %v", rest, err)
		}
		first, err := owner.PolicyAt(ctx, id, 1)
		if err != nil || first.PolicyVersion != 1 || first.Rules[0].Effect != "deny" {
			t.Errorf("version 1 is %+v, %v", first, err)
		}
		for what, err := range map[string]error{
			"a version that is not there": second(owner.PolicyAt(ctx, id, 3)),
			"a diff with it":              second(owner.DiffPolicy(ctx, id, 1, 3)),
			"its activation":              second(owner.ActivatePolicy(ctx, id, 3)),
			"a rollback to it":            second(owner.RollbackPolicy(ctx, id, 3)),
			"its export":                  second(owner.ExportPolicy(ctx, id, 3)),
		} {
			testserver.WantStatus(t, what, err, http.StatusNotFound)
		}
	})
}

// TestIfMatch: the ETag of what was read is the condition of what is written.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		id := b.Draft(b.Owner, b.ID, "pay")
		me := testserver.Credentials(b.Owner.Client)
		read := b.Request(t, "GET", "/policies/"+id, "", me...)
		if tag := read.Header.Get("ETag"); tag != `"1"` {
			t.Fatalf("ETag is %q", tag)
		}
		put := func(tag, effect string) testserver.Answer {
			return b.Request(t, "PUT", "/policies/"+id, testserver.PolicyText("pay", effect), append(me, "Content-Type",
				client.YAMLDocument, "If-Match", tag)...)
		}
		put(`"2"`, "allow").ErrorFields(t, http.StatusConflict)
		for _, bad := range []string{"x", `"x"`, `"0"`, `"-1"`, `"1", "2"`, `"99999999999999999999"`} {
			put(bad, "allow").ErrorFields(t, http.StatusBadRequest)
		}
		if answer := put(`"1"`, "allow"); answer.Status != http.StatusOK || answer.Header.Get("ETag") != `"2"` {
			t.Errorf("status %d, ETag %q: %s", answer.Status, answer.Header.Get("ETag"), answer.Body)
		}
		put(`"1"`, "hold").ErrorFields(t, http.StatusConflict)
	})
}

// TestExportIsWhatWasWritten, comments and all; what was JSON becomes YAML that
// stays as it is.
func TestExportIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, owner := t.Context(), b.Owner
		odd := strings.ReplaceAll(paymentsYAML, "\n", "\r\n") + "\r\n\r\n# the end"
		for name, text := range map[string]string{"usual": paymentsYAML, "odd": odd} {
			made, err := owner.ImportPolicy(ctx, b.ID, client.YAMLDocument, text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := owner.ExportPolicy(ctx, made.ID, 0)
			if diff := cmp.Diff(text, got); err != nil || diff != "" {
				t.Errorf("%s: export (%v, -want +got):\n%s", name, err, diff)
			}
		}
		made, err := owner.CreatePolicy(ctx, b.ID, client.JSONDocument,
			`{"version":"v1","name":"json","rules":[{"id":"a","effect":"deny","tools":["x.*"],"when":"args.a == \"b\""}]}`)
		if err != nil {
			t.Fatal(err)
		}
		first, err := owner.ExportPolicy(ctx, made.ID, 0)
		if err != nil || !strings.Contains(first, "name: json\n") {
			t.Fatalf("export of JSON: %q, %v", first, err)
		}
		if _, err := owner.ImportPolicy(ctx, b.ID, client.YAMLDocument, first); err != nil {
			t.Fatal(err)
		}
		again, err := owner.ExportPolicy(ctx, made.ID, 2)
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			t.Errorf("export again (%v, -want +got):\n%s", err, diff)
		}
	})
}

func TestPolicyLists(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, owner := t.Context(), b.Owner
		for _, name := range []string{"a", "b", "c"} {
			b.Draft(owner, b.ID, name)
		}
		b.ActivePolicy(owner, b.ID, testserver.PolicyText("d", "deny"))
		names := func(f client.PolicyFilter, limit int) (names []string) {
			t.Helper()
			l := client.List{Limit: limit}
			for more := true; more; {
				got, err := owner.Policies(ctx, f, l)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range got.Items {
					names = append(names, p.Name)
				}
				l.Cursor, more = got.NextCursor, got.HasMore
			}
			return names
		}
		for want, f := range map[string]client.PolicyFilter{
			"d c b a": {}, "d": {Status: "active"}, "c b a": {Status: "draft"}, "": {Status: "inactive"},
			"b": {Name: "b"},
		} {
			if got := strings.Join(names(f, 2), " "); got != want {
				t.Errorf("%+v lists %q, want %q", f, got, want)
			}
		}
		// A person in two organizations says which.
		other := b.Organization(owner, "Other")
		_, err := owner.Policies(ctx, client.PolicyFilter{}, client.List{})
		testserver.WantStatus(t, "which organization", err, http.StatusBadRequest)
		if got := names(client.PolicyFilter{OrganizationID: other}, 0); got != nil {
			t.Errorf("another organization has %v", got)
		}
		mine, err := b.Public.WithKey(b.DraftKey(owner, b.ID).APIKey).Policies(ctx, client.PolicyFilter{},
			client.List{})
		if err != nil || len(mine.Items) != 4 {
			t.Errorf("a key lists %+v, %v", mine.Items, err)
		}
	})
}

func TestPolicySchemaAndTemplates(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx := t.Context()
		schema, err := b.Public.PolicySchema(ctx)
		if err != nil || !strings.Contains(string(schema), "2020-12") {
			t.Errorf("the schema is %.100s, %v", schema, err)
		}
		var named struct {
			ID string `json:"$id"`
		}
		if err := json.Unmarshal(schema, &named); err != nil {
			t.Fatal(err)
		}
		// Whoever follows the id gets the schema, and a policy may carry it.
		address, err := url.Parse(named.ID)
		if err != nil || address.Scheme == "" || address.Host == "" {
			t.Fatalf("the schema has the id %q, %v", named.ID, err)
		}
		if again := b.Request(t, "GET", address.Path, ""); again.Status != http.StatusOK ||
			strings.TrimSpace(string(again.Body)) != string(schema) {
			t.Errorf("its id %s leads to %d %.100s", named.ID, again.Status, again.Body)
		}
		with := `{"$schema": "` + named.ID + `", "version": "v1", "name": "with schema", "rules": []}`
		if _, err := b.Owner.CreatePolicy(ctx, b.ID, client.JSONDocument, with); err != nil {
			t.Errorf("a policy with $schema: %v", err)
		}
		templates, err := b.Agent.PolicyTemplates(ctx)
		if err != nil || len(templates) == 0 {
			t.Fatalf("templates: %v, %v", templates, err)
		}
		for _, template := range templates {
			text, err := b.Agent.PolicyTemplate(ctx, template.Name)
			if err != nil {
				t.Errorf("%s: %v", template.Name, err)
				continue
			}
			made, err := b.Owner.CreatePolicy(ctx, b.ID, client.YAMLDocument, text)
			if err != nil || made.Name != template.Document.Name {
				t.Errorf("%s as a policy: %+v, %v", template.Name, made.PolicyState, err)
			}
		}
		_, err = b.Agent.PolicyTemplate(ctx, database.NewID())
		testserver.WantStatus(t, "a template that is not there", err, http.StatusNotFound)
		_, err = b.Public.PolicyTemplates(ctx)
		testserver.WantStatus(t, "templates for nobody", err, http.StatusUnauthorized)
	})
}
