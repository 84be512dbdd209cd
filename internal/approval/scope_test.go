package approval_test

import (
	"slices"
	"testing"

	"writ/internal/approval"
	"writ/internal/approval/pattern"
	"writ/internal/fault"
	"writ/internal/testenv"
)

// TestWords: an approver reads these before saying yes, so each promise of a
// scope must stand in them.
func TestWords(t *testing.T) {
	t.Parallel()
	r := approval.Request{Call: approval.Call{
		Server:    "bank",
		Tool:      "pay",
		AgentID:   "billing",
		Email:     "ada@example.org",
		SessionID: "s1",
		PlanID:    "p1",
	}}
	unseen := approval.Request{Call: r.Call, Via: approval.ViaRequest, ArgumentsFrom: "unknown"}
	unseen.Amount = amount(50000.5)
	bare := approval.Request{Call: approval.Call{Server: "bank", Tool: "pay", UserID: "u7"}}
	for _, c := range []struct {
		request approval.Request
		scope   approval.Scope
		want    string
	}{
		{r, approval.Scope{}, "One call of bank.pay with exactly these arguments, under the same plan, within 10 minutes."},
		{r, approval.Scope{Kind: approval.Session},
			`Any call of bank.pay in the session "s1", whatever its arguments are, by this API key, agent "billing", for "ada@example.org", at most 100 times within 1 hour. What a rule denies stays denied.`},
		{bare, approval.Scope{Kind: approval.Minutes, Minutes: 90, Uses: 1},
			`Any call of bank.pay, whatever its arguments are, by this API key, for user "u7", at most once within 1 hour and 30 minutes. What a rule denies stays denied.`},
		{approval.Request{Call: approval.Call{Server: "bank", Tool: "pay"}},
			approval.Scope{
				Kind: approval.ByPattern,
				Uses: 5,
				Pattern: argumentPattern(t,
					`{"to":{"equals":"x"},"amount":{"min":1,"max":100.0},"memo":{"any":true},"way":{"oneOf":["a","b"]},"ref":{"prefix":"INV-"},"lo":{"min":0},"hi":{"max":9}}`),
			},
			`Any call of bank.pay where amount is from 1 to 100 and hi is at most 9 and lo is at least 0 and memo is anything and ref begins with "INV-" and to is "x" and way is one of "a", "b", and nothing else is given, by this API key, at most 5 times within 1 hour. What a rule denies stays denied.`},
		{r, approval.Scope{Kind: approval.Plan, Minutes: 480, Uses: 1000},
			`Every call within the plan p1 that would wait for the same approval, of whatever tool and arguments, by this API key, agent "billing", for "ada@example.org", at most 1000 times within 8 hours. What a rule denies stays denied.`},
		{approval.Request{Call: approval.Call{Server: "bank", Tool: "look, once. Also \u202epay"}},
			approval.Scope{},
			`One call of "bank.look, once. Also \u202epay" with exactly these arguments, within 10 minutes.`},
		{unseen, approval.Scope{},
			`One call of bank.pay for "ada@example.org", whose amount is 50000.5 according to the client, within 10 minutes, with any arguments: nobody has seen them.`},
		{approval.Request{Call: approval.Call{Server: "bank", Tool: "pay"}, ArgumentsFrom: "unknown"}, approval.Scope{},
			`One call of bank.pay, within 10 minutes, with any arguments: nobody has seen them.`},
		{r, approval.Scope{Kind: "all"}, "Nothing: this is no known scope."},
	} {
		if got := c.scope.Words(c.request); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.scope.Kind, got, c.want)
		}
	}
}

// TestScopesToOffer: none that would never let the call run.
func TestScopesToOffer(t *testing.T) {
	t.Parallel()
	call := approval.Call{Server: "bank", Tool: "pay", SessionID: "s1", PlanID: "p1"}
	for policyID, want := range map[string][]approval.ScopeKind{
		"policy":      {approval.Once, approval.Session, approval.Minutes, approval.Plan},
		"writ:intent": {approval.Once, approval.Session, approval.Minutes},
		"writ:mcp":    {approval.Once},
	} {
		r := approval.Request{Call: call, PolicyID: policyID}
		var offered []approval.ScopeKind
		for _, scope := range r.Scopes() {
			offered = append(offered, scope.Kind)
		}
		if !slices.Equal(offered, want) {
			t.Errorf("a call held by %s: %v, want %v", policyID, offered, want)
		}
		for _, kind := range []approval.ScopeKind{approval.Session, approval.Plan} {
			if _, err := r.Permits(approval.Scope{Kind: kind}); (err == nil) != slices.Contains(want, kind) {
				t.Errorf("a call held by %s, approved for a %s: %v", policyID, kind, err)
			}
		}
	}
}

// TestNothingIsOfferedThatPermitsNothing: what a standing approval of the rule would not let run is approved alone.
func TestNothingIsOfferedThatPermitsNothing(t *testing.T) {
	t.Parallel()
	call := approval.Call{Server: "bank", Tool: "pay", SessionID: "s1", PlanID: "p1"}
	call.Arguments = `{"n":1}`
	widens := call
	widens.Widens = true
	once := []approval.ScopeKind{approval.Once}
	session := []approval.ScopeKind{approval.Once, approval.Session, approval.Minutes}
	for name, c := range map[string]struct {
		request approval.Request
		want    []approval.ScopeKind
	}{
		"held by a rule, and in doubt": {
			approval.Request{Call: call, PolicyID: "policy", Doubted: true}, once,
		},
		"in doubt": {
			approval.Request{Call: call, PolicyID: "writ:intent", Doubted: true}, session,
		},
		"held by a rule, and added to the plan": {approval.Request{Call: widens, PolicyID: "policy"}, session},
		"asked for by a client": {
			approval.Request{Call: call, Via: approval.ViaRequest}, []approval.ScopeKind{approval.Once, approval.Plan},
		},
		"without arguments": {
			approval.Request{Call: call, Via: approval.ViaRequest, ArgumentsFrom: "unknown"}, once,
		},
	} {
		var offered []approval.ScopeKind
		for _, scope := range c.request.Scopes() {
			offered = append(offered, scope.Kind)
		}
		if !slices.Equal(offered, c.want) {
			t.Errorf("%s: %v, want %v", name, offered, c.want)
		}
		for _, scope := range []approval.Scope{
			{Kind: approval.Session}, {Kind: approval.Minutes, Minutes: 5}, {Kind: approval.Plan},
		} {
			if _, err := c.request.Permits(scope); (err == nil) != slices.Contains(c.want, scope.Kind) {
				t.Errorf("%s, approved for a %s: %v", name, scope.Kind, err)
			}
		}
		fits := approval.Scope{Kind: approval.ByPattern, Pattern: argumentPattern(t, `{"n":{"equals":1}}`)}
		if _, err := c.request.Permits(fits); (err == nil) != slices.Contains(c.want, approval.Session) {
			t.Errorf("%s, approved for a pattern: %v", name, err)
		}
	}
}

// TestADoubtIsKeptWithItsRequest, so that nobody approves more of it later.
func TestADoubtIsKeptWithItsRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob, doubted := e.person("approver"), hold
		doubted.Doubted = true
		r := e.held(approval.Call{Server: "bank", Tool: "pay", PlanID: "p1", Widens: true}, `{"n":1}`, doubted)
		for _, scope := range []approval.Scope{{Kind: approval.Minutes, Minutes: 5}, {Kind: approval.Plan}} {
			_, err := e.approvals.Approve(t.Context(), bob, r.ID, approval.Approval{Scope: scope})
			testenv.WantFault(t, string(scope.Kind), err, fault.Invalid)
		}
		kept, err := e.approvals.Get(t.Context(), bob, r.ID)
		if err != nil || !kept.Doubted || !kept.Widens || len(kept.Scopes()) != 1 {
			t.Errorf("%+v, %v", kept, err)
		}
		e.approve(bob, r.ID, approval.Approval{})
	})
}

// TestScopesThatAreRefused: nothing is given, and the request waits on.
func TestScopesThatAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		r, bob := e.open(hold), e.person("approver") // names neither session nor plan
		for name, yes := range map[string]approval.Approval{
			"unknown":          {Scope: approval.Scope{Kind: "always"}},
			"no session":       {Scope: approval.Scope{Kind: approval.Session}},
			"no plan":          {Scope: approval.Scope{Kind: approval.Plan}},
			"no minutes":       {Scope: approval.Scope{Kind: approval.Minutes}},
			"too long":         {Scope: approval.Scope{Kind: approval.Minutes, Minutes: 481}},
			"negative":         {Scope: approval.Scope{Kind: approval.Minutes, Minutes: -5}},
			"too often":        {Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5, Uses: 1001}},
			"negative uses":    {Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5, Uses: -1}},
			"once for minutes": {Scope: approval.Scope{Minutes: 5}},
			"once with a pattern": {
				Scope: approval.Scope{Kind: approval.Once, Pattern: pattern.Pattern{{Path: "a", Any: true}}},
			},
			"pattern without one": {Scope: approval.Scope{Kind: approval.ByPattern}},
			"minutes with pattern": {
				Scope: approval.Scope{
					Kind: approval.Minutes, Minutes: 5, Pattern: argumentPattern(t, `{"a":{"equals":1}}`),
				},
			},
			"any pattern": {
				Scope: approval.Scope{
					Kind: approval.ByPattern, Pattern: pattern.Pattern{{Path: "a", Any: true}},
				},
			},
			"edited and wide": {
				Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5}, Arguments: []byte(`{"a":1}`),
			},
			"edited to a list":   {Arguments: []byte(`[]`)},
			"edited twice":       {Arguments: []byte(`{"a":1,"a":2}`)},
			"edited to a secret": {Arguments: []byte(`{"password":"hunter2"}`)},
		} {
			_, err := e.approvals.Approve(t.Context(), bob, r.ID, yes)
			testenv.WantFault(t, name, err, fault.Invalid)
		}
		got, err := e.approvals.Get(t.Context(), bob, r.ID)
		if err != nil || got.Status != approval.Pending || len(got.Votes) != 0 || got.Scope.Kind != "" {
			t.Errorf("after: %+v, %v", got, err)
		}
	})
}
