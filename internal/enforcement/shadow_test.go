package enforcement_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/audit"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// shadow has a new policy of these rules run as a shadow.
func (e *env) shadow(name string, rules ...string) policy.Full {
	e.T.Helper()
	text := "version: v1\nname: " + name + "\nrules:\n"
	for _, rule := range rules {
		text += "  - " + strings.ReplaceAll(rule, "; ", "\n    ") + "\n"
	}
	full, err := e.policies.Create(e.T.Context(), e.owner, policy.Source{Text: text, Format: document.YAML})
	if err != nil {
		e.T.Fatalf("create: %v\n%s", err, text)
	}
	if full, err = e.policies.StartShadow(e.T.Context(), e.owner, full.ID, policy.LatestVersion); err != nil {
		e.T.Fatalf("start a shadow: %v", err)
	}
	return full
}

// last is the decision of acme that was recorded last.
func (e *env) last() decision.Record {
	e.T.Helper()
	all, err := decision.Read(e.T.Context(), e.DB, e.acme, 0, 1000)
	if err != nil || len(all) == 0 {
		e.T.Fatalf("%d decisions, %v", len(all), err)
	}
	return all[len(all)-1]
}

// TestShadowsAreOnTheRecord: the answer is that of the active policies; what it
// would have been is in the entry, and in no entry without a shadow.
func TestShadowsAreOnTheRecord(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		active := e.active("all", allowAll)
		want(t, e.decide(call("sh", "bash", `{"command":"ls"}`)), verdict.Allow, active.ID, "")
		entries, err := audit.ReadEntries(t.Context(), e.DB, e.acme, e.last().Index, 1)
		if err != nil || len(entries) != 1 || strings.Contains(entries[0].Payload, `"shadows"`) {
			t.Errorf("an entry without shadows: %+v, %v", entries, err)
		}
		deny := e.shadow("strict", `id: no-shell; effect: deny; tools: ["sh.*"]`)
		want(t, e.decide(call("sh", "bash", `{"command":"ls"}`)), verdict.Allow, active.ID, "")
		would := []decision.Shadow{{
			Active:    "allow",
			DecidedBy: deny.ID,
			Policy:    deny.ID,
			Rule:      "no-shell",
			Verdict:   "deny",
			Version:   1,
		}}
		if diff := cmp.Diff(would, e.last().Shadows); diff != "" {
			t.Errorf("a call that the shadow would deny (-want +got):\n%s", diff)
		}
		shown := e.mint(e.agent, twoSteps)
		want(t, e.decide(planned(shown, "rm", `{}`)), verdict.Deny, policy.ByIntent, "")
		if got := e.last().Shadows; got != nil {
			t.Errorf("policies were not asked, and shadows answered: %+v", got)
		}
		if _, err := e.policies.EndShadow(t.Context(), e.owner, deny.ID); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(call("sh", "bash", `{"command":"ls"}`)), verdict.Allow, active.ID, "")
		if got := e.last().Shadows; got != nil {
			t.Errorf("after its end: %+v", got)
		}
		e.verified()
	})
}

// TestShadowLimitsCountNothing: nothing is taken from a limit for a shadow, and the
// record says that one was not counted.
func TestShadowLimitsCountNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("all", allowAll)
		e.shadow("limited", `id: few; effect: hold; tools: ["*"]; limit: {calls: 1, per: 1h, by: org}`)
		for range 3 {
			want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "all", "")
			if got := e.last().Shadows; len(got) != 1 || !got[0].Uncounted || got[0].Verdict != "allow" {
				t.Errorf("%+v, want an allow that says it was not counted", got)
			}
		}
		if n := e.count("limit_use"); n != 0 {
			t.Errorf("%d counters were made for a shadow", n)
		}
		e.active("counted", `id: few; effect: deny; tools: ["*"]; limit: {calls: 1, per: 1h, by: org}`)
		if err := e.policies.PrepareShadows(t.Context(), e.acme); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "all", "")
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Deny, "counted", "")
		if got := e.last().Shadows; len(got) != 1 || got[0].Verdict != "deny" || got[0].Active != "deny" {
			t.Errorf("%+v, want the active limit to be known to the shadow", got)
		}
	})
}

// TestShadowsChangeNoAnswer decides the same calls with and without shadows of all
// kinds, and where what they ask for cannot be read.
func TestShadowsChangeNoAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("mixed", `id: read; effect: allow; tools: ["fs.*"]`, `id: pay; effect: hold; tools: ["bank.*"]`,
			`id: sh; effect: ask; tools: ["sh.*"]`, `id: net; effect: deny; tools: ["net.*"]`)
		calls := []enforcement.Request{
			call("fs", "read", `{}`), call("bank", "pay", `{"amount":1}`), call("sh", "bash", `{"command":"ls"}`),
			call("net", "get", `{}`), call("other", "x", `{}`),
			call("", "mcp__net__get", `{}`),
		}
		for i := range calls {
			calls[i].SessionID = "s"
		}
		type said struct {
			Verdict                        verdict.Verdict
			Reason, PolicyID, Rule, Server string
		}
		decideAll := func() (all []said) {
			for _, c := range calls {
				a := e.decide(c)
				all = append(all, said{a.Verdict, a.Reason, a.PolicyID, a.Rule, a.Server})
			}
			return all
		}
		before := decideAll()
		e.shadow("no", `id: none; effect: deny; tools: ["*"]`)
		e.shadow("yes", allowAll)
		asks := e.shadow("asks", `id: costly; effect: deny; tools: ["*"]; when: session.costUsd > 1.0`)
		e.meanwhile.away.Store(true)
		if diff := cmp.Diff(before, decideAll()); diff != "" {
			t.Errorf("with shadows (-without +with):\n%s", diff)
		}
		got := e.last().Shadows
		if len(got) != 3 {
			t.Fatalf("%+v, want three shadows", got)
		}
		for _, s := range got {
			if s.Verdict == "" || s.Problem != "" || (s.Failed > 0) != (s.Policy == asks.ID) {
				t.Errorf("%+v, want an answer, and a failed condition of the one that asks for more", s)
			}
		}
		if n := e.count("approval_request"); n != 2 {
			t.Errorf("%d requests for approval, want the two of the active policies", n)
		}
	})
}
