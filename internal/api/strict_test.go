package api_test

import (
	"slices"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// TestSettingsRefuseUnknownMembers: a misspelled setting or restriction is refused by its name, and the answer says
// which members there are.
func TestSettingsRefuseUnknownMembers(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		org := "/organization/" + o.ID
		policyID := o.ActivePolicy(o.Owner, o.ID, "version: v1\nname: reads\nrules:\n  - {id: all, effect: allow, tools: ['*']}\n")
		for _, c := range []struct{ method, path, body string }{
			{"PUT", org + "/enforcement", `{"intentRequired":true,"unheardOf":1}`},
			{"PUT", "/delegation/settings", `{"pendingSeconds":1800,"unheardOf":1}`},
			{"PUT", org + "/forwarding", `{"endpoint":"https://collector.example.org","unheardOf":1}`},
			{"PUT", "/notifications/preferences", `{"unheardOf":1}`},
			{"POST", org + "/webhooks", `{"url":"https://hooks.example.org","unheardOf":1}`},
			{"PUT", org + "/identity-provider", `{"issuer":"https://id.example.org","unheardOf":1}`},
			{"PATCH", org, `{"name":"Bank","unheardOf":1}`},
			{"POST", org + "/members/invite", `{"email":"a@example.org","unheardOf":1}`},
			{"PUT", org + "/agents/settings", `{"unregisteredMayAct":true,"unheardOf":1}`},
			{"POST", "/agent/register", `{"agentId":"a","unheardOf":1}`},
			{"POST", "/api-keys", `{"name":"k","unheardOf":1}`},
			{"POST", "/policies/" + policyID + "/activate", `{"version":1,"unheardOf":1}`},
			{"POST", "/policies/" + policyID + "/deactivate", `{"ifActive":1,"unheardOf":1}`},
			{"POST", "/policies/" + policyID + "/rollback", `{"version":1,"unheardOf":1}`},
			{"POST", "/policies/" + policyID + "/shadow", `{"version":1,"unheardOf":1}`},
			{"POST", "/delegation/approve", `{"scope":{"kind":"minutes","minutes":5,"unheardOf":1}}`},
			{"POST", "/delegation/preview", `{"unheardOf":1}`},
			{"POST", "/delegation/reject", `{"note":"no","unheardOf":1}`},
		} {
			answer := o.Request(t, c.method, c.path, c.body, testserver.Credentials(o.Owner.Client)...)
			if fields := answer.ErrorFields(t, 400); !slices.ContainsFunc(fields, isUnheardOf) {
				t.Errorf("%s %s: complains of %q, want unheardOf: %s", c.method, c.path, fields, answer.Body)
			}
		}
		if _, err := o.Owner.Organization(t.Context(), o.ID); err != nil {
			t.Error(err)
		}
	})
}

func isUnheardOf(field string) bool {
	return field == "unheardOf" || strings.HasSuffix(field, ".unheardOf")
}
