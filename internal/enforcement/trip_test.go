package enforcement_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

func (a *areas) answered(
	ctx context.Context, tx *database.Tx, orgID, agentID, keyID string, rejected bool,
) error {
	return a.agents.Answered(ctx, tx, orgID, agentID, keyID, rejected)
}

// foundAt is findings of a kind about a key.
type foundAt struct {
	agent.Found
	at time.Time
}

func (a *areas) findings(_ context.Context, _ string, kinds []string, after time.Time) (all []agent.Found, err error) {
	for _, f := range a.found {
		if slices.Contains(kinds, f.Kind) && f.at.After(after) {
			all = append(all, f.Found)
		}
	}
	return all, nil
}

func (a *areas) spent(ctx context.Context, orgID, agentID string, since time.Time) (int64, error) {
	if orgID == a.brokenOrg {
		return 0, errors.New("its log cannot be continued")
	}
	nanos, _, err := a.meanwhile.Spent(ctx, orgID, document.Agent, agentID, since)
	return nanos, err
}

func (a *areas) noteTrip(_ context.Context, tx *database.Tx, orgID string, _ agent.Stop) error {
	if away := a.awayIn.Load(); away != nil && *away == orgID {
		return errors.New("away")
	}
	tx.AfterCommit(func() { a.trips.Add(1) })
	return nil
}

// watch looks for trips that no decision counts.
func (e *env) watch() error {
	var all []error
	failed := func(err error) { all = append(all, err) }
	all = append(all, e.agents.WatchBudgets(e.T.Context(), failed), e.agents.WatchFindings(e.T.Context(), failed))
	return errors.Join(all...)
}

// tripsAt sets the trips of acme.
func (e *env) tripsAt(t agent.Trips) {
	e.T.Helper()
	_, err := e.agents.SetSettings(e.T.Context(), e.owner, agent.SettingsChange{UnregisteredMayAct: true, Trips: &t})
	if err != nil {
		e.T.Fatal(err)
	}
}

// stops are what is stopped in acme.
func (e *env) stops() []agent.Stop {
	e.T.Helper()
	stops, err := e.agents.Stops(e.T.Context(), e.owner)
	if err != nil {
		e.T.Fatal(err)
	}
	return stops
}

func (e *env) decideAs(p principal.Principal, r enforcement.Request) enforcement.Answer {
	return e.decisions.Decide(e.T.Context(), p, r)
}

// TestCallsTripOnTwoReplicas: the call that reaches the limit is the last, however many come at once, and people are
// notified once.
func TestCallsTripOnTwoReplicas(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		e.tripsAt(agent.Trips{CallsPerMinute: new(int64(20))})
		replica := open(t, e.Replica().DB)
		var calls sync.WaitGroup
		var mu sync.Mutex
		allowed := 0
		for i, on := range []*enforcement.Service{e.decisions, replica.decisions, e.decisions, replica.decisions} {
			calls.Go(func() {
				for range 15 { // another id or session does not help
					r := as([]string{"billing", "another"}[i%2])
					r.SessionID = database.NewID()
					if on.Decide(t.Context(), e.agent, r).Allowed() {
						mu.Lock()
						allowed++
						mu.Unlock()
					}
				}
			})
		}
		calls.Wait()
		if allowed != 20 {
			t.Errorf("%d calls were allowed, want 20", allowed)
		}
		stops := e.stops()
		if len(stops) != 1 || stops[0].Trip != agent.CallsPerMinute || stops[0].Scope != agent.OfAgent ||
			stops[0].Subject != "billing" || stops[0].StoppedBy != "" ||
			!strings.Contains(stops[0].Reason, "20 calls") {
			t.Errorf("stopped: %+v", stops)
		}
		if n := e.trips.Load() + replica.trips.Load(); n != 1 {
			t.Errorf("people were notified %d times", n)
		}
		if n := e.count(`audit_entry WHERE action = 'agent.killed'`); n != 1 {
			t.Errorf("%d entries of kills", n)
		}
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
		e.revive(agent.OfAgent, "billing")
		want(t, e.decide(as("billing")), verdict.Allow, "", "") // the count begins anew
	})
}

// TestAMinutePasses: counts are of a minute, by whichever clock is ahead.
func TestAMinutePasses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.tripsAt(agent.Trips{CallsPerMinute: new(int64(3))})
		for range 4 {
			want(t, e.decide(as("")), verdict.Allow, "", "")
			want(t, e.decide(as("")), verdict.Allow, "", "")
			e.Pass(time.Minute)
		}
		want(t, e.decide(as("")), verdict.Allow, "", "")
		e.Pass(-time.Hour) // a replica whose clock is behind
		want(t, e.decide(as("")), verdict.Allow, "", "")
		want(t, e.decide(as("")), verdict.Allow, "", "")
		want(t, e.decide(as("")), verdict.Deny, policy.ByAgent, "stopped")
	})
}

// TestUnboundKeysTripThemselves, never the agent that they name, and a key gets no fresh count by being rotated.
func TestUnboundKeysTripThemselves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: some; effect: deny; tools: ["*"]`)
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		e.register("loose", agent.Profile{})
		e.tripsAt(agent.Trips{DenialsPerMinute: new(int64(4))})
		rotated, err := e.keys.Rotate(t.Context(), e.owner, e.other.KeyID)
		if err != nil {
			t.Fatal(err)
		}
		next, err := e.keys.Holder(t.Context(), rotated.ID)
		if err != nil {
			t.Fatal(err)
		}
		next.Scopes = e.other.Scopes
		for _, by := range []principal.Principal{e.other, next} {
			e.decideAs(by, as("billing"))
			e.decideAs(by, as("loose"))
		}
		stops := e.stops()
		if len(stops) != 1 || stops[0].Scope != agent.OfKey || stops[0].Subject != next.KeyID ||
			len(stops[0].Keys) != 1 || stops[0].Trip != agent.DenialsPerMinute {
			t.Fatalf("stopped: %+v", stops)
		}
		for _, id := range []string{"billing", "loose"} {
			if status, err := e.agents.StatusOf(t.Context(), e.owner, id); err != nil || status != agent.Active {
				t.Errorf("%s is %s, %v", id, status, err)
			}
		}
		want(t, e.decideAs(next, as("x")), verdict.Deny, policy.ByAgent, "stopped")
		want(t, e.decide(as("billing")), verdict.Deny, "rules", "")
		e.revive(agent.OfKey, next.KeyID)
		want(t, e.decideAs(next, as("x")), verdict.Deny, "rules", "")
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
	})
}

// TestAnAgentsOwnTrips hold over the organization's, also zero.
func TestAnAgentsOwnTrips(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.tripsAt(agent.Trips{CallsPerMinute: new(int64(2))})
		e.register("free", agent.Profile{
			Keys: []string{e.agent.KeyID}, Trips: agent.Trips{CallsPerMinute: new(int64(0))},
		})
		e.register("tight", agent.Profile{
			Keys: []string{e.other.KeyID}, Trips: agent.Trips{CallsPerMinute: new(int64(1))},
		})
		for range 5 {
			want(t, e.decide(as("free")), verdict.Allow, "", "")
		}
		want(t, e.decideAs(e.other, as("tight")), verdict.Allow, "", "")
		want(t, e.decideAs(e.other, as("tight")), verdict.Deny, policy.ByAgent, "stopped")
		_, err := e.agents.Update(t.Context(), e.owner, "free", agent.Changes{Trips: &agent.Trips{}})
		if err != nil {
			t.Fatal(err)
		}
		e.decide(as("free"))
		e.decide(as("free"))
		want(t, e.decide(as("free")), verdict.Deny, policy.ByAgent, "stopped")
	})
}

// TestRejectionsInARow trip; an approval between them begins the count anew.
func TestRejectionsInARow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay)
		e.tripsAt(agent.Trips{RejectedInARow: new(int64(2))})
		n := 0
		held := func() string {
			n++
			return e.decide(call("bank", "pay", `{"n":`+strings.Repeat("1", n)+`}`)).ApprovalID
		}
		reject := func() {
			if _, err := e.approvals.Reject(t.Context(), bob, held(), "no"); err != nil {
				t.Fatal(err)
			}
		}
		reject()
		if _, err := e.approvals.Approve(t.Context(), bob, held(), approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		reject()
		if len(e.stops()) != 0 {
			t.Error("an approval between two rejections does not count")
		}
		reject()
		if stops := e.stops(); len(stops) != 1 || stops[0].Trip != agent.RejectedInARow {
			t.Errorf("stopped: %+v", stops)
		}
		want(t, e.decide(call("bank", "pay", `{}`)), verdict.Deny, policy.ByAgent, "stopped")
	})
}

// TestABudgetTrips once it is spent, and what was spent before a person revives the agent does not count again. If
// nobody can tell what was spent, nobody with a budget acts.
func TestABudgetTrips(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("billing", agent.Profile{
			Keys: []string{e.agent.KeyID}, Trips: agent.Trips{CostPerDay: new(1.5)},
		})
		watch := func() error {
			e.decide(as("billing"))
			return e.watch()
		}
		e.meanwhile.nanos.Store(1_499_999_999)
		if err := watch(); err != nil || len(e.stops()) != 0 {
			t.Fatalf("below the budget: %+v, %v", e.stops(), err)
		}
		e.meanwhile.nanos.Store(1_500_000_000)
		if err := watch(); err != nil {
			t.Fatal(err)
		}
		stops := e.stops()
		if len(stops) != 1 || stops[0].Trip != agent.CostPerDay || !strings.Contains(stops[0].Reason, "$1.50") {
			t.Errorf("stopped: %+v", stops)
		}
		for range 3 { // once, not once a look
			if err := watch(); err != nil || e.trips.Load() != 1 {
				t.Errorf("notified %d times, %v", e.trips.Load(), err)
			}
		}
		e.revive(agent.OfAgent, "billing")
		if err := watch(); err != nil || len(e.stops()) != 0 { // what it had cost before
			t.Errorf("revived within the hour: %+v, %v", e.stops(), err)
		}
		e.meanwhile.nanos.Store(2_900_000_000)
		if err := watch(); err != nil || len(e.stops()) != 0 {
			t.Errorf("below the budget since: %+v, %v", e.stops(), err)
		}
		want(t, e.decide(as("billing")), verdict.Allow, "", "")
		e.meanwhile.away.Store(true)
		e.Pass(3 * time.Minute)
		if err := watch(); err == nil {
			t.Error("a look without telemetry succeeds")
		}
		want(t, e.decide(as("billing")), verdict.Deny, policy.ByAgent, "cannot read what was spent")
		if err := e.decisions.RefuseCaller(t.Context(), e.agent, "billing"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("what runs while nobody knows what was spent: %v", err) // it goes on
		}
		e.kill(agent.OfAgent, "billing")
		if err := e.decisions.RefuseCaller(t.Context(), e.agent, "billing"); !fault.Is(err, fault.Forbidden) {
			t.Errorf("what runs of an agent that was stopped meanwhile: %v", err)
		}
		e.revive(agent.OfAgent, "billing")
		want(t, e.decideAs(e.other, as("x")), verdict.Allow, "", "") // it has no budget
		e.meanwhile.away.Store(false)
		if err := watch(); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(as("billing")), verdict.Allow, "", "")
	})
}

// TestABrokenOrganizationBlindsNoOther: what one has spent cannot be read, and agents of another go on.
func TestABrokenOrganizationBlindsNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		budget := agent.Profile{Keys: []string{e.agent.KeyID}, Trips: agent.Trips{CostPerDay: new(1.5)}}
		e.register("billing", budget)
		globex := testenv.Person(e.ada, e.globex, principal.Owner)
		budget.Keys, e.brokenOrg = []string{e.foreign.KeyID}, e.globex
		if _, err := e.agents.Register(t.Context(), globex, "theirs", "", budget); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := e.watch(); err == nil {
				t.Error("what fails in an organization is not told")
			}
			e.Pass(time.Minute)
		}
		want(t, e.decide(as("billing")), verdict.Allow, "", "")
		want(t, e.decisions.Decide(t.Context(), e.foreign, as("theirs")), verdict.Deny, policy.ByAgent,
			"cannot read what was spent")
		e.brokenOrg = ""
		if err := e.watch(); err != nil {
			t.Fatal(err)
		}
		want(t, e.decisions.Decide(t.Context(), e.foreign, as("theirs")), verdict.Deny, policy.ByDefault, "")
	})
}

// TestABudgetNeedsNoSighting: whoever names no agent in calls spends all the same.
func TestABudgetNeedsNoSighting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("billing", agent.Profile{
			Keys: []string{e.agent.KeyID}, Trips: agent.Trips{CostPerDay: new(1.5)},
		})
		want(t, e.decide(as("")), verdict.Allow, "", "")
		e.meanwhile.nanos.Store(1_500_000_000)
		if err := e.watch(); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(as("")), verdict.Deny, policy.ByAgent, "stopped")
	})
}

// TestMalformedCallsTrip as others do: a call that cannot be judged is denied and counted.
func TestMalformedCallsTrip(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.tripsAt(agent.Trips{DenialsPerMinute: new(int64(3))})
		bad := as("bot")
		bad.SessionID = strings.Repeat("s", 201)
		for range 3 {
			want(t, e.decide(bad), verdict.Deny, policy.ByDefault, "")
		}
		stops := e.stops()
		if len(stops) != 1 || stops[0].Scope != agent.OfKey || stops[0].Subject != e.agent.KeyID {
			t.Errorf("stopped: %+v, want the key", stops)
		}
		want(t, e.decide(as("bot")), verdict.Deny, policy.ByAgent, "stopped")
	})
}

// TestReleasesCount: a call that a client runs by its approval alone is a call.
func TestReleasesCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay)
		ask := approval.Asked{Tool: "bank.pay", Domain: "bank", Email: "ada@example.org", Arguments: []byte(`{}`)}
		ask.Tool = "pay"
		asked, _, err := e.approvals.Ask(t.Context(), e.agent, ask)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.approvals.Approve(t.Context(), bob, asked.ID, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		e.tripsAt(agent.Trips{CallsPerMinute: new(int64(1))})
		released, err := e.decisions.CheckApproved(t.Context(), e.agent,
			approval.Question{Tool: "pay", Email: "ada@example.org"})
		if err != nil || released == nil {
			t.Fatalf("%+v, %v", released, err)
		}
		if stops := e.stops(); len(stops) != 1 || stops[0].Trip != agent.CallsPerMinute {
			t.Errorf("stopped: %+v", stops)
		}
	})
}

// TestFindingsTrip what they are about, and those from before a revival do not count again.
func TestFindingsTrip(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		e.tripsAt(agent.Trips{FindingsPerDay: map[string]int64{"sequence_gap": 2}})
		at := e.Now()
		gap := foundAt{agent.Found{KeyID: e.agent.KeyID, Kind: "sequence_gap", Count: 1}, at}
		other := foundAt{agent.Found{KeyID: e.other.KeyID, Kind: "sequence_gap", Count: 1}, at}
		e.found = []foundAt{gap, other, {agent.Found{KeyID: e.agent.KeyID, Kind: "another", Count: 9}, at}}
		if err := e.watch(); err != nil || len(e.stops()) != 0 {
			t.Fatalf("one finding each: %+v, %v", e.stops(), err)
		}
		e.found = append(e.found, gap)
		for range 2 {
			if err := e.watch(); err != nil {
				t.Fatal(err)
			}
		}
		stops := e.stops()
		if len(stops) != 1 || stops[0].Subject != "billing" || stops[0].Trip != agent.FindingsPerDay ||
			e.trips.Load() != 1 {
			t.Errorf("stopped: %+v, notified %d times", stops, e.trips.Load())
		}
		e.Pass(time.Second)
		e.revive(agent.OfAgent, "billing")
		if err := e.watch(); err != nil || len(e.stops()) != 0 {
			t.Errorf("findings from before count again: %+v, %v", e.stops(), err)
		}
	})
}

// TestWrongTripsAreRefused with the field that is wrong.
func TestWrongTripsAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for want, trips := range map[string]agent.Trips{
			"trips.callsPerMinute":              {CallsPerMinute: new(int64(-1))},
			"trips.denialsPerMinute":            {DenialsPerMinute: new(int64(1 << 40))},
			"trips.rejectedInARow":              {RejectedInARow: new(int64(-2))},
			"trips.costPerDay":                  {CostPerDay: new(-0.5)},
			"trips.findingsPerDay":              {FindingsPerDay: map[string]int64{"unheard-of": 1}},
			"trips.findingsPerDay.sequence_gap": {FindingsPerDay: map[string]int64{"sequence_gap": -1}},
		} {
			_, err := e.agents.SetSettings(t.Context(), e.owner, agent.SettingsChange{Trips: &trips})
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || len(f.Details) != 1 || f.Details[0].Field != want {
				t.Errorf("%v, want a fault about %s", err, want)
			}
		}
	})
}
