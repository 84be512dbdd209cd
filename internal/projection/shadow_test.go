package projection_test

import (
	"testing"

	"writ/internal/decision"
	"writ/internal/telemetry"
	"writ/internal/verdict"
)

// TestShadowsAreCountedApart: what shadows would have said is in the figures of
// their policy, and in no figure of what was decided.
func TestShadowsAreCountedApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		shadows := func(said ...decision.Shadow) decision.Record {
			d := e.decision("plan", verdict.Allow)
			d.Shadows = said
			return d
		}
		tried, other := "0f7e1c1e-0000-4000-8000-000000000001", "0f7e1c1e-0000-4000-8000-000000000002"
		said := func(policy, active, would string) decision.Shadow {
			return decision.Shadow{
				Policy:  policy,
				Version: 2,
				Active:  active,
				Verdict: would,
				Rule:    "r",
			}
		}
		e.decide(
			shadows(said(tried, "allow", "deny"), said(other, "allow", "allow")), shadows(said(tried, "allow", "deny")),
			shadows(said(tried, "deny", "deny")),
			shadows(said(tried, "hold", "allow")), shadows(said(tried, "allow", "hold")),
			shadows(said(tried, "deny", "hold")), shadows(said(tried, "hold", "hold")),
			shadows(said(tried, "allow", "ask")),
			shadows(decision.Shadow{Policy: tried, Version: 2, Active: "allow", Problem: "it is not compiled yet"}),
			shadows(),
		)
		foreign := shadows(said(tried, "allow", "deny"))
		foreign.OrgID = e.globex
		e.decide(foreign)
		for range 2 { // each once, however often it is looked
			if err := e.projector.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		figures := func(policy string) telemetry.PolicyStats {
			t.Helper()
			f, err := e.telemetry.Policy(t.Context(), e.acme, policy, 0, telemetry.Days(1))
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		want := telemetry.ShadowStats{
			Calls:      8,
			Allowed:    1,
			Asked:      1,
			Held:       3,
			Denied:     3,
			WouldDeny:  2,
			WouldHold:  2,
			WouldAllow: 1,
		}
		if got := figures(tried); got.Shadow != want || got.Calls != 0 || len(got.TopRules) != 0 {
			t.Errorf("the policy that was tried: %+v, want the shadow figures %+v and nothing decided", got, want)
		}
		if got := figures(other).Shadow; got != (telemetry.ShadowStats{Calls: 1, Allowed: 1}) {
			t.Errorf("the other: %+v", got)
		}
		summary, err := e.telemetry.Summary(t.Context(), e.acme, telemetry.Days(1))
		if err != nil {
			t.Fatal(err)
		}
		if len(summary.TopFailing) != 0 {
			t.Errorf("policies that denied: %+v, want none: shadows deny nothing", summary.TopFailing)
		}
		var denied int
		if err := e.bulk.QueryRow(t.Context(),
			`SELECT COUNT(*) FROM span WHERE status = 'denied'`).Scan(&denied); err != nil || denied != 0 {
			t.Errorf("%d spans are denied, %v; want none", denied, err)
		}
	})
}
