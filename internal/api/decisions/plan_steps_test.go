package decisions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// TestAPlanIsShownWithItsStepsAsTheyAreJudged: in one shape, whatever the client wrote, and without secrets.
func TestAPlanIsShownWithItsStepsAsTheyAreJudged(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newCaseEnv(t, s, &caseFile{
			Policy: json.RawMessage(`{"version":"v1","name":"all","rules":[{"id":"all","effect":"allow","tools":["*"]}]}`),
			Plans: map[string]json.RawMessage{
				"work": json.RawMessage(`{"plan":{"goal":"pay","ordered":true,"steps":[
					{"action":"send_money","mcp":"bank","params":{"to":"landlord","amount":12345678901234567890},"max_calls":2},
					{"action":"log_in","mcp":"web","description":"first","strict":true,
						"params":{"password":"hunter2-hunter2-hunter2"}}]}}`),
			},
		})
		token := w.begin(t).mint("work")
		read := func(person *testserver.Person) (text string, steps []struct {
			Step                              int
			Server, Tool, Action, Description string
			Fixed                             []struct{ Name, Value string }
			Strict                            bool
			MaxCalls                          int64
		}, ordered bool) {
			t.Helper()
			text = string(s.Request(t, "GET", "/iap/plan/"+token.text("plan_id"), "",
				testserver.Credentials(person.Client)...).Body)
			body := struct {
				Steps   any
				Ordered bool
			}{Steps: &steps}
			if err := json.Unmarshal([]byte(text), &body); err != nil {
				t.Fatal(err)
			}
			return text, steps, body.Ordered
		}
		text, steps, ordered := read(w.owner)
		if len(steps) != 2 || !ordered || steps[0].Server != "bank" || steps[0].Tool != "send_money" ||
			steps[0].MaxCalls != 2 || !steps[1].Strict || steps[1].Description != "first" {
			t.Fatalf("steps = %+v", steps)
		}
		if got := steps[0].Fixed; len(got) != 2 || got[0].Value != "12345678901234567890" ||
			got[1].Value != `"landlord"` {
			t.Errorf("fixed = %+v", got)
		}
		if strings.Contains(text, `"auditIndex":null`) || !strings.Contains(text, `"auditIndex":`) {
			t.Errorf("the entry that declared it is not named: %s", text)
		}
		if strings.Contains(text, "hunter2") || len(steps[1].Fixed) != 1 {
			t.Errorf("a secret is shown, or its argument is not: %s", text)
		}
		if text, steps, _ := read(s.Join(w.owner, w.org, "viewer")); len(steps) != 0 ||
			strings.Contains(text, "landlord") {
			t.Errorf("a viewer sees %s", text)
		}
	})
}
