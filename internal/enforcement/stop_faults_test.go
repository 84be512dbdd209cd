package enforcement_test

import (
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/approval"
	"writ/internal/database/dbtest"
	"writ/internal/policy"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// TestAKillBetweenJudgingAndRecording denies the call that was judged before it.
func TestAKillBetweenJudgingAndRecording(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll, asksMeanwhile)
		e.decide(as("bot"))
		killed := false
		e.meanwhile.do.Store(new(func() {
			killed = true
			e.kill(agent.OfAgent, "bot")
		}))
		want(t, e.decide(as("bot")), verdict.Deny, policy.ByAgent, "stopped")
		if !killed {
			t.Error("nothing happened between judging and recording")
		}
		e.revive(agent.OfAgent, "bot")
		e.meanwhile.do.Store(new(func() { e.tripsAt(agent.Trips{CallsPerMinute: new(int64(1))}) }))
		want(t, e.decide(as("bot")), verdict.Allow, "", "") // it is counted by the trip that was set meanwhile
		want(t, e.decide(as("bot")), verdict.Deny, policy.ByAgent, "stopped")
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
	})
}

// TestAKillBetweenApprovalAndUse: an approval that was given is of no use to a call that is under way.
func TestAKillBetweenApprovalAndUse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, asksMeanwhile)
		pay := call("bank", "pay", `{}`)
		pay.AgentID = "bot"
		held := e.decide(pay)
		if _, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		e.meanwhile.do.Store(new(func() { e.kill(agent.OfAgent, "bot") }))
		want(t, e.decide(pay), verdict.Deny, policy.ByAgent, "stopped")
		e.revive(agent.OfAgent, "bot")
		want(t, e.decide(pay), verdict.Hold, "", "")
	})
}

// TestKillsAtOnce: one entry, which both answers name.
func TestKillsAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		replica := open(t, e.Replica().DB)
		e.decide(as("bot"))
		var stops [2]agent.Stop
		kill := func(i int, on *areas) func() error {
			return func() (err error) {
				stops[i], err = on.agents.Kill(t.Context(), e.owner, agent.OfAgent, "bot", "twice", nil)
				return err
			}
		}
		for _, err := range testenv.AtOnce(kill(0, e.areas), kill(1, replica)) {
			if err != nil {
				t.Error(err)
			}
		}
		if stops[0].Index != stops[1].Index || e.count(`audit_entry WHERE action = 'agent.killed'`) != 1 {
			t.Errorf("%+v", stops)
		}
	})
}

// TestTheLaterOfKillAndRevivalCounts, whichever that is.
func TestTheLaterOfKillAndRevivalCounts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		replica := open(t, e.Replica().DB)
		e.decide(as("bot"))
		for range 8 {
			first := e.kill(agent.OfAgent, "bot")
			var killed, revived int64
			errs := testenv.AtOnce(func() error {
				stop, err := e.agents.Kill(t.Context(), e.owner, agent.OfAgent, "bot", "again", []string{e.other.KeyID})
				killed = stop.Index
				return err
			}, func() (err error) {
				revived, err = replica.agents.Revive(t.Context(), e.owner, agent.OfAgent, "bot", "explained")
				return err
			})
			if errs[0] != nil || errs[1] != nil || killed <= first.Index {
				t.Fatalf("%v, kill %d behind %d", errs, killed, first.Index)
			}
			allowed := replica.decisions.Decide(t.Context(), e.agent, as("bot")).Allowed()
			if allowed != (revived > killed) {
				t.Errorf("killed by %d, revived by %d, allowed %t", killed, revived, allowed)
			}
			if !allowed {
				e.revive(agent.OfAgent, "bot")
			}
		}
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
	})
}

// TestClocksThatDiffer: kills, plans, trips and leases count by the order of the log, or by the stricter clock.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		behind := e.Options
		behind.Now = func() time.Time { return e.Now().Add(-time.Hour) }
		replica := open(t, dbtest.Open(t, behind))
		shown := e.mint(e.agent, twoSteps)
		e.decide(as("bot"))
		stop, err := replica.agents.Kill(t.Context(), e.owner, agent.OfAgent, "bot", "by a clock that is behind", nil)
		if err != nil || stop.StoppedAt.After(e.Now()) {
			t.Fatalf("%+v, %v", stop, err)
		}
		want(t, e.decide(as("bot")), verdict.Deny, policy.ByAgent, "stopped")
		if _, err := replica.agents.Revive(t.Context(), e.owner, agent.OfAgent, "bot", "explained"); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(as("bot")), verdict.Allow, "", "")
		want(t, e.decide(planned(shown, "bash", `{"command":"make"}`)), verdict.Deny, policy.ByIntent, "has ended")
		e.tripsAt(agent.Trips{CallsPerMinute: new(int64(2))})
		want(t, e.decide(as("bot")), verdict.Allow, "", "")
		want(t, replica.decisions.Decide(t.Context(), e.agent, as("bot")), verdict.Allow, "", "")
		want(t, e.decide(as("bot")), verdict.Deny, policy.ByAgent, "stopped")
	})
}

// TestAKillWithoutADatabase: a kill counts if it is recorded, and only then its answer says so.
func TestAKillWithoutADatabase(t *testing.T) {
	t.Parallel()
	eachOutage(t, func(t *testing.T, e *env, fail, mend func()) {
		e.active("rules", allowAll)
		e.tripsAt(agent.Trips{CallsPerMinute: new(int64(50))})
		want(t, e.decide(as("bot")), verdict.Allow, "", "")
		fail()
		_, err := e.agents.Kill(t.Context(), e.owner, agent.OfAgent, "bot", "away", nil)
		got := e.decide(as("bot"))
		mend()
		if n := e.count(`audit_entry WHERE action = 'agent.killed'`); (n == 1) != (err == nil) {
			t.Errorf("%d kills are recorded, and the answer is %v", n, err)
		}
		if got.Allowed() && (err == nil || !got.Recorded) {
			t.Errorf("allowed without a record, or behind a kill: %+v", got)
		}
		e.kill(agent.OfAgent, "bot")
		want(t, e.decide(as("bot")), verdict.Deny, policy.ByAgent, "stopped")
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
	})
}
