package policies_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestAVersionGoesByTwoNames: under either name it is that version, and never the
// latest instead; two that differ are refused.
func TestAVersionGoesByTwoNames(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		id := b.Draft(b.Owner, b.ID, "pay")
		if _, err := b.Owner.UpdatePolicy(t.Context(), id, client.YAMLDocument, testserver.PolicyText("pay", "allow"),
			0); err != nil {
			t.Fatal(err)
		}
		owner := testserver.Credentials(b.Owner.Client)
		ask := func(method, path, body string) (answer struct {
			ActiveVersion, ShadowVersion, PolicyVersion int
			Decision, Message                           string
			status                                      int
		}) {
			t.Helper()
			got := b.Request(t, method, path, body, owner...)
			if err := json.Unmarshal([]byte(got.Body), &answer); err != nil {
				t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
			}
			answer.status = got.Status
			return answer
		}
		replays, simulate := "/policy-replays?organizationId="+b.ID, "/policies/simulate?organizationId="+b.ID
		for _, name := range []string{"version", "policyVersion"} {
			one := fmt.Sprintf(`{%q:1}`, name)
			if got := ask("POST", "/policies/"+id+"/activate", one); got.ActiveVersion != 1 {
				t.Errorf("%s: activated %+v", name, got)
			}
			if got := ask("POST", "/policies/"+id+"/shadow", fmt.Sprintf(`{%q:2}`, name)); got.ShadowVersion != 2 {
				t.Errorf("%s: shadows %+v", name, got)
			}
			if got := ask("POST", simulate, fmt.Sprintf(`{"policyId":%q,%q:1,"call":{"server":"bank","tool":"t"}}`, id,
				name)); got.Decision != "deny" {
				t.Errorf("%s: simulated %+v", name, got)
			}
			if got := ask("GET", "/policies/"+id+"/findings?"+name+"=1", ""); got.PolicyVersion != 1 {
				t.Errorf("%s: findings of %+v", name, got)
			}
			got := ask("POST", replays, fmt.Sprintf(`{"policyId":%q,%q:1}`, id, name))
			if got.PolicyVersion != 1 {
				t.Errorf("%s: replays %+v", name, got)
			}
			if err := b.Replays.Work(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := ask("POST", "/policies/"+id+"/rollback", `{"policyVersion":1}`); got.PolicyVersion != 3 {
			t.Errorf("rolled back to %+v", got)
		}
		var document struct {
			Components struct {
				Schemas map[string]struct{ Properties map[string]any }
			}
		}
		if err := json.Unmarshal([]byte(b.Request(t, "GET", "/openapi.json", "").Body), &document); err != nil {
			t.Fatal(err)
		}
		told := 0
		for name, schema := range document.Components.Schemas {
			if schema.Properties["version"] == nil || schema.Properties["policyVersion"] == nil {
				continue
			}
			if strings.Contains(name, "ChosenVersion") || strings.Contains(name, "Replay") ||
				strings.Contains(name, "imulate") {
				told++
			}
		}
		if told != 3 {
			t.Errorf("%d of the three bodies that choose a version are documented with both names", told)
		}
		const both = `"version":1,"policyVersion":2`
		for path, body := range map[string]string{
			"/policies/" + id + "/activate": `{` + both + `}`, "/policies/" + id + "/shadow": `{` + both + `}`,
			"/policies/" + id + "/rollback": `{` + both + `}`,
			replays:                         fmt.Sprintf(`{"policyId":%q,%s}`, id, both),
			simulate:                        fmt.Sprintf(`{"policyId":%q,%s,"call":{"tool":"t"}}`, id, both),
		} {
			if fields := b.Request(t, "POST", path, body, owner...).ErrorFields(t,
				http.StatusBadRequest); !slices.Contains(fields, "policyVersion") {
				t.Errorf("%s: two versions: complains of %v", path, fields)
			}
		}
		if fields := b.Request(t, "POST", "/policies/"+id+"/rollback", `{}`, owner...).ErrorFields(t,
			http.StatusBadRequest); !slices.Contains(fields, "version") {
			t.Errorf("rolling back to nothing: complains of %v", fields)
		}
	})
}

// TestAReplayWithoutAnActivePolicy: a narrow draft beside a wide policy changes
// nothing, and with that one gone it does.
func TestAReplayWithoutAnActivePolicy(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		wide := b.ActivePolicy(b.Owner, b.ID, testserver.PolicyText("wide", "allow"))
		for _, tool := range []string{"send", "close"} {
			if got := decide(t, b, b.Agent.APIKey, predictionCase{
				server: "bank", tool: tool,
			}); got.Decision != "allow" {
				t.Fatalf("%s: %+v", tool, got)
			}
		}
		narrow := "version: v1\nname: narrow\ndefault: allow\nrules:\n  - {id: no-close, effect: hold, tools: [bank.close]}\n  - {id: close, effect: ask, tools: [bank.send]}\n"
		beside := replay(b.Server, b.Owner.Client, b.ID, client.NewReplay{YAML: narrow, Days: 1}).Counts
		if beside.Drafted["hold"] != 1 || beside.Drafted["ask"] != 1 {
			t.Errorf("beside the wide policy: %+v", beside)
		}
		loose := "version: v1\nname: loose\nrules:\n  - {id: send, effect: allow, tools: [bank.send]}\n"
		if got := replay(b.Server, b.Owner.Client, b.ID, client.NewReplay{
			YAML: loose, Days: 1,
		}).Counts; got.Unchanged != 2 {
			t.Errorf("beside the wide policy: %+v, want two unchanged", got)
		}
		if got := replay(b.Server, b.Owner.Client, b.ID, client.NewReplay{
			YAML: loose, Days: 1, Without: []string{wide},
		}).Counts; got.Unchanged != 1 || got.Stricter != 1 || got.Today["allow"] != 2 {
			t.Errorf("with the wide policy gone: %+v, want one denied", got)
		}
		kept, err := b.Owner.Replays(t.Context(), b.ID)
		if err != nil || !slices.Equal(kept[0].Without, []string{wide}) || len(kept[1].Without) != 0 {
			t.Errorf("the replays tell %+v, %v", kept, err)
		}
		draft := b.Draft(b.Owner, b.ID, "draft")
		for name, id := range map[string]string{
			"a draft": draft, "nothing": database.NewID(), "no id": strings.Repeat("x y ", 3),
		} {
			_, err := b.Owner.StartReplay(t.Context(), b.ID, client.NewReplay{YAML: loose, Without: []string{id}})
			testserver.WantStatus(t, "without "+name, err, http.StatusBadRequest)
		}
	})
}
