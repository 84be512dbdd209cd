package enforcement_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

func (e *env) kill(scope agent.Scope, subject string) agent.Stop {
	e.T.Helper()
	stop, err := e.agents.Kill(e.T.Context(), e.owner, scope, subject, "it went wrong", nil)
	if err != nil {
		e.T.Fatal(err)
	}
	return stop
}

func (e *env) revive(scope agent.Scope, subject string) {
	e.T.Helper()
	if _, err := e.agents.Revive(e.T.Context(), e.owner, scope, subject, "it was explained"); err != nil {
		e.T.Fatal(err)
	}
}

// TestAKillStopsTheAgentAndItsKeys: another id, another session or a rotated key do not help.
func TestAKillStopsTheAgentAndItsKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		want(t, e.decide(as("bot")), verdict.Allow, "", "") // an unregistered agent
		rotated, err := e.keys.Rotate(t.Context(), e.owner, e.other.KeyID)
		if err != nil {
			t.Fatal(err)
		}
		e.register("billing", agent.Profile{Keys: []string{e.other.KeyID}})
		stop, bound := e.kill(agent.OfAgent, "bot"), e.kill(agent.OfAgent, "billing")
		if len(stop.Keys) != 1 || stop.Keys[0] != e.agent.KeyID || stop.Index <= 0 {
			t.Errorf("the kill names %+v", stop)
		}
		if len(bound.Keys) != 2 {
			t.Errorf("a kill names %v, want the key and what it was rotated into", bound.Keys)
		}
		later, err := e.keys.Holder(t.Context(), rotated.ID)
		if err != nil {
			t.Fatal(err)
		}
		later.Scopes = e.agent.Scopes
		for _, id := range []string{"bot", "another", ""} {
			want(t, e.decide(as(id)), verdict.Deny, policy.ByAgent, "stopped")
			want(t, e.decisions.Decide(t.Context(), later, as(id)), verdict.Deny, policy.ByAgent, "stopped")
		}
		if _, err := e.keys.Rotate(t.Context(), e.owner, e.agent.KeyID); err == nil {
			t.Error("a stopped key was rotated")
		}
		e.revive(agent.OfAgent, "bot")
		want(t, e.decide(as("bot")), verdict.Allow, "", "")
		want(t, e.decisions.Decide(t.Context(), later, as("x")), verdict.Deny, policy.ByAgent, "stopped")
		want(t, e.decisions.Decide(t.Context(), e.foreign, as("bot")), verdict.Deny, policy.ByDefault, "")
	})
}

func TestKillsOfWiderScopes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent, twoSteps)
		for _, c := range []struct {
			scope   agent.Scope
			subject string
			stopped enforcement.Request
			free    *enforcement.Request
		}{
			{
				agent.OfServer, "BANK", call("", "mcp__bank__pay", `{}`),
				&enforcement.Request{Server: "fs", Tool: "read"},
			},
			{agent.OfTool, "bank.pay", call("bank", "pay", `{}`), &enforcement.Request{Server: "bank", Tool: "list"}},
			{
				agent.OfPlan, shown.PlanID, planned(shown, "bash", `{"command":"make"}`),
				&enforcement.Request{Server: "fs", Tool: "read"},
			},
			{agent.OfOrganization, "", call("fs", "read", `{}`), nil},
		} {
			want(t, e.decide(c.stopped), verdict.Allow, "", "")
			e.kill(c.scope, c.subject)
			want(t, e.decide(c.stopped), verdict.Deny, policy.ByAgent, "stopped")
			if c.free != nil {
				want(t, e.decide(*c.free), verdict.Allow, "", "")
			}
			e.revive(c.scope, c.subject)
			want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "", "")
		}
		want(t, e.decide(planned(shown, "bash", `{"command":"make"}`)), verdict.Deny, policy.ByIntent, "has ended")
	})
}

// TestWhatWasBeforeAKillHasEnded: plans, open holds and approvals do not come back with the agent.
func TestWhatWasBeforeAKillHasEnded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.Member(e.acme, e.bob, principal.Approver)
		bob := testenv.Person(e.bob, e.acme, principal.Approver)
		e.active("rules", allowAll, `id: wait; effect: hold; tools: ["bank.*"]`)
		shown := e.mint(e.agent, twoSteps)
		pay, move := as("bot"), as("bot")
		pay.Server, pay.Tool, move.Server, move.Tool = "bank", "pay", "bank", "move"
		granted, open := e.decide(pay), e.decide(move)
		if _, err := e.approvals.Approve(t.Context(), bob, granted.ApprovalID, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		e.kill(agent.OfAgent, "bot")
		want(t, e.decide(pay), verdict.Deny, policy.ByAgent, "")
		e.revive(agent.OfAgent, "bot")
		if _, err := e.approvals.Approve(t.Context(), bob, open.ApprovalID, approval.Approval{}); err == nil {
			t.Error("a request from before the kill was approved")
		}
		again := e.decide(pay)
		want(t, again, verdict.Hold, "rules", "")
		if again.ApprovalID == granted.ApprovalID {
			t.Error("the hold waits for the request from before the kill")
		}
		want(t, e.decide(planned(shown, "bash", `{"command":"make"}`)), verdict.Deny, policy.ByIntent, "has ended")
		if _, err := e.approvals.Approve(t.Context(), bob, again.ApprovalID, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(pay), verdict.Allow, policy.ByApproval, "")
	})
}

// TestNoAllowStandsBehindAKill: on two replicas, with calls under way, by the order of the log.
func TestNoAllowStandsBehindAKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		replica := open(t, e.Replica().DB)
		e.decide(as("bot"))
		for range 5 {
			var calls sync.WaitGroup
			for _, on := range []*enforcement.Service{e.decisions, replica.decisions} {
				for range 4 {
					calls.Go(func() {
						for range 10 {
							on.Decide(t.Context(), e.agent, as("bot"))
						}
					})
				}
			}
			e.kill(agent.OfAgent, "bot")
			calls.Wait()
			want(t, replica.decisions.Decide(t.Context(), e.agent, as("x")), verdict.Deny, policy.ByAgent, "")
			e.revive(agent.OfAgent, "bot")
		}
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
	})
}

// exported verifies an export of acme's log.
func (e *env) exported() (ledger.Report, error) {
	e.T.Helper()
	var file bytes.Buffer
	if err := e.audit.Export(e.T.Context(), &file, e.acme, audit.ExportOptions{}); err != nil {
		e.T.Fatal(err)
	}
	keys, err := ledger.ParseKeys(e.audit.PublicKey())
	if err != nil {
		e.T.Fatal(err)
	}
	return ledger.Verify(&file, ledger.Trust{Keys: keys})
}

// TestAToolStopsUnderItsHarnessNames: people kill what the log shows, and harnesses rewrite names.
func TestAToolStopsUnderItsHarnessNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope         agent.Scope
		subject, tool string
	}{
		{agent.OfTool, "mcp__bank__pay", "mcp__bank__pay"},
		{agent.OfTool, "bank.pay now", "mcp__bank__pay_now"},
		{agent.OfServer, "my bank", "mcp__my_bank__pay"},
	} {
		t.Run(c.subject, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				e.active("rules", allowAll)
				pay := call("", c.tool, `{}`)
				want(t, e.decide(pay), verdict.Allow, "", "")
				e.kill(c.scope, c.subject)
				if a := e.decide(pay); a.Verdict != verdict.Deny || a.Rule != "killed" {
					t.Errorf("%s by %s, want a deny by the kill switch", a.Verdict, a.Rule)
				}
			})
		})
	}
}

// TestAnAgentWithoutASightingCanBeKilled: sightings are bounded, the log is not.
func TestAnAgentWithoutASightingCanBeKilled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		want(t, e.decide(as("bot")), verdict.Allow, "", "")
		e.Exec(`DELETE FROM agent_seen`)
		if stop := e.kill(agent.OfAgent, "bot"); len(stop.Keys) != 1 {
			t.Errorf("the kill names %v, want the key that the log tells of", stop.Keys)
		}
		if a := e.decide(as("bot")); a.Rule != "killed" {
			t.Errorf("%s by %s, want a deny by the kill switch", a.Verdict, a.Rule)
		}
	})
}

// TestAnAgentThatOnlyTookALeaseCanBeKilled by its id, with the key that has the lease, also if another key is known.
func TestAnAgentThatOnlyTookALeaseCanBeKilled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.leases()
		if _, err := e.decisions.Lease(t.Context(), e.agent, enforcement.LeaseRequest{
			AgentID: "bot", Tools: []lease.Tool{readTool},
		}); err != nil {
			t.Fatal(err)
		}
		e.Exec(`DELETE FROM agent_seen`) // they are bounded
		stop := e.kill(agent.OfAgent, "bot")
		if !slices.Equal(stop.Keys, []string{e.agent.KeyID}) || stop.LeasesEndAt == nil {
			t.Errorf("the kill names %v until %v, want the key with the lease", stop.Keys, stop.LeasesEndAt)
		}
		want(t, e.decide(as("another")), verdict.Deny, policy.ByAgent, "stopped")
		e.revive(agent.OfAgent, "bot")
		want(t, e.decideAs(e.other, as("bot")), verdict.Allow, "", "")
		if stop := e.kill(agent.OfAgent, "bot"); len(stop.Keys) != 2 {
			t.Errorf("the kill names %v, want both keys", stop.Keys)
		}
	})
}

// TestAnAgentThatOnlyDeclaredAPlanCanBeKilled by its id.
func TestAnAgentThatOnlyDeclaredAPlanCanBeKilled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.mint(e.agent, twoSteps, func(r *intent.Request) { r.AgentID = "planner" })
		if stop := e.kill(agent.OfAgent, "planner"); !slices.Equal(stop.Keys, []string{e.agent.KeyID}) {
			t.Errorf("the kill names %v, want the key with the plan", stop.Keys)
		}
		_, err := e.agents.Kill(t.Context(), e.owner, agent.OfAgent, "never-heard-of", "r", nil)
		testenv.WantFault(t, "an id that nothing knows", err, fault.NotFound)
	})
}

// TestAFullListOfSightingsHidesNobody: a key that invents ids replaces its own.
func TestAFullListOfSightingsHidesNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.Exec(`
			INSERT INTO agent_seen (org_id, agent_id, key_id, host, first_seen_at, last_seen_at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
			SELECT $1, 'invented-' || i, $2, '', 1, i FROM n`, e.acme, e.agent.KeyID)
		for _, by := range []principal.Principal{e.agent, e.other} {
			want(t, e.decideAs(by, as("evil")), verdict.Allow, "", "")
		}
		if n := e.count(`agent_seen`); n != 10_000 {
			t.Errorf("%d sightings, want 10,000", n)
		}
		if n := e.count(`agent_seen WHERE agent_id = 'evil'`); n != 2 {
			t.Errorf("%d sightings of the agent, want one of each key", n)
		}
		if stop := e.kill(agent.OfAgent, "evil"); len(stop.Keys) != 2 {
			t.Errorf("the kill names %v, want both keys", stop.Keys)
		}
	})
}
