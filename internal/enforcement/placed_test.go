package enforcement_test

import (
	"testing"

	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// TestADenialByThePlanIsOfThePlansServer: who lists what was denied at a server finds the calls that its plan refused,
// also where they state no server. What the call itself says comes first, and nobody guesses among several servers.
func TestADenialByThePlanIsOfThePlansServer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		one := e.mint(e.agent, `{"steps":[{"action":"send","mcp":"bank","params":{"to":"landlord"}},
			{"action":"once","mcp":"bank","max_calls":1}]}`)
		both := e.mint(e.agent, `{"steps":[{"action":"send","mcp":"bank","params":{"to":"landlord"}},
			{"action":"send","mcp":"post","params":{"to":"landlord"}}]}`)
		none := e.mint(e.agent, `{"steps":[{"action":"send","params":{"to":"landlord"}}]}`)
		ordered := e.mint(e.agent,
			`{"ordered":true,"steps":[{"action":"read","mcp":"fs"},{"action":"pay","mcp":"bank","max_calls":1}]}`)
		want(t, e.decide(planned(one, "once", `{}`)), verdict.Allow, "rules", "")
		stated := planned(one, "send", `{"to":"mallory"}`)
		stated.Server = "other"
		for name, c := range map[string]struct {
			request        enforcement.Request
			server, reason string
		}{
			"other arguments":     {planned(one, "send", `{"to":"mallory"}`), "bank", "are not those of the plan"},
			"in other letters":    {planned(one, "SEND", `{}`), "bank", "are not those of the plan"},
			"joined":              {planned(one, "bank__send", `{}`), "bank", "are not those of the plan"},
			"used up":             {planned(one, "once", `{}`), "bank", "used up"},
			"out of order":        {planned(ordered, "pay", `{}`), "bank", "comes before"},
			"on several servers":  {planned(both, "send", `{"to":"mallory"}`), "local", "are not those of the plan"},
			"on none":             {planned(none, "send", `{"to":"mallory"}`), "local", "are not those of the plan"},
			"not in the plan":     {planned(one, "burn", `{}`), "local", "not in the plan"},
			"with another server": {stated, "other", "not in the plan"},
		} {
			got := e.decide(c.request)
			want(t, got, verdict.Deny, policy.ByIntent, c.reason)
			rows, err := decision.Read(t.Context(), e.DB, e.acme, 0, 100)
			last := rows[len(rows)-1]
			if err != nil || last.ID != got.DecisionID || last.Server != c.server || got.Server != c.server {
				t.Errorf("%s: recorded at %q, want %q: %v", name, last.Server, c.server, err)
			}
		}
	})
}
