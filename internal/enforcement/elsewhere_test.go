package enforcement_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/apikey"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// switched is a terminal's key in globex that a key made.
func (e *env) switched(by principal.Principal) principal.Principal {
	e.T.Helper()
	made, err := e.keys.IssueCLI(e.T.Context(), by, e.globex, "switched")
	if err != nil {
		e.T.Fatal(err)
	}
	return e.holder(made.ID)
}

// follow does in other organizations what stops have left to do there, as every replica does.
func (e *env) follow() {
	e.T.Helper()
	if err := e.agents.Follow(e.T.Context()); err != nil {
		e.T.Fatal(err)
	}
}

// TestAKillDoesNotWaitForOtherOrganizations: it holds at home at once, says what is open, and the rest follows.
func TestAKillDoesNotWaitForOtherOrganizations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		terminal := e.terminal()
		there := e.switched(terminal)
		want(t, e.decideAs(terminal, as("bot")), verdict.Allow, "", "")
		e.awayIn.Store(&e.globex)
		stop := e.kill(agent.OfAgent, "bot")
		if stop.Index <= 0 || stop.Elsewhere != 1 {
			t.Errorf("%+v, want a stop at home and one organization left", stop)
		}
		want(t, e.decideAs(terminal, as("bot")), verdict.Deny, policy.ByAgent, "stopped")
		want(t, e.decideAs(there, as("")), verdict.Deny, policy.ByDefault, "")
		if _, err := e.keys.IssueCLI(t.Context(), there, e.acme, "back"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a key that comes from a stopped one makes another: %v", err)
		}
		if err := e.agents.Follow(t.Context()); err == nil {
			t.Error("nothing was left to do")
		}
		e.awayIn.Store(nil)
		e.follow()
		want(t, e.decideAs(there, as("")), verdict.Deny, policy.ByAgent, "stopped")
		if n := e.count(`agent_stop WHERE followed = 0`); n != 0 {
			t.Errorf("%d stops are still followed", n)
		}
		e.revive(agent.OfAgent, "bot")
		e.follow()
		want(t, e.decideAs(there, as("")), verdict.Deny, policy.ByDefault, "")
	})
}

// TestAStopThatWasLiftedMeanwhileIsNotFollowed: the later of kill and revival counts elsewhere too.
func TestAStopThatWasLiftedMeanwhileIsNotFollowed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		terminal := e.terminal()
		there := e.switched(terminal)
		e.awayIn.Store(&e.globex)
		e.kill(agent.OfKey, terminal.KeyID)
		e.revive(agent.OfKey, terminal.KeyID)
		e.awayIn.Store(nil)
		e.follow()
		want(t, e.decideAs(there, as("")), verdict.Deny, policy.ByDefault, "")
		if n := e.count(`agent_stop WHERE org_id = '` + e.globex + `'`); n != 0 {
			t.Errorf("%d stops elsewhere", n)
		}
	})
}

// manyKeys stores keys of ada's that a key made in an organization.
func (e *env) manyKeys(orgID, madeBy string, n int) (ids []string) {
	e.T.Helper()
	rows := make([][]any, n)
	for i := range rows {
		id := database.NewID()
		ids = append(ids, id)
		rows[i] = []any{id, orgID, e.ada, "k", "sandbox", "", "enforce", "ak_test_", []byte(id), 1, 0, madeBy}
	}
	e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
		return tx.Insert(ctx, `INSERT INTO api_key (id, org_id, owner_id, name, environment, product, scopes, prefix,
			hash, created_at, limited, made_by)`, rows, ``)
	})
	return ids
}

// TestNoNumberOfKeysMakesAnAgentUnkillable, at home or elsewhere; the answer says how many stop.
func TestNoNumberOfKeysMakesAnAgentUnkillable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		terminal := e.terminal()
		made := e.manyKeys(e.acme, terminal.KeyID, 1_001)
		there := e.manyKeys(e.globex, terminal.KeyID, 7_000)
		want(t, e.decideAs(terminal, as("bot")), verdict.Allow, "", "")
		e.register("last", agent.Profile{Keys: made[len(made)-1:]})
		stop := e.kill(agent.OfAgent, "bot")
		if stop.KeyCount != 1_002 || !slices.Contains(stop.Keys, terminal.KeyID) {
			t.Errorf("%d keys stop", stop.KeyCount)
		}
		e.follow() // the answer waits for other organizations for two seconds only
		last := e.holder(made[len(made)-1])
		want(t, e.decideAs(last, as("x")), verdict.Deny, policy.ByAgent, "stopped")
		if a, err := e.agents.Get(t.Context(), e.owner, "last"); err != nil || a.Status != agent.Killed ||
			a.Stop == nil || a.Stop.Subject != "bot" {
			t.Errorf("the agent of the last key: %+v, %v", a, err)
		}
		// Whoever verifies the log knows every key, though an entry names 1,000 at most.
		e.plant(last, func(*decision.Record) {})
		if _, err := e.exported(); err == nil || !strings.Contains(err.Error(), "stopped with entry") {
			t.Errorf("an allow of a key that came from a stopped one: %v", err)
		}
		far := e.holder(there[len(there)-1])
		want(t, e.decideAs(far, as("x")), verdict.Deny, policy.ByAgent, "stopped")
		e.revive(agent.OfAgent, "bot")
		e.follow()
		want(t, e.decideAs(far, as("x")), verdict.Deny, policy.ByDefault, "")
	})
}

// TestAnIDThatManyKeysSentCanBeKilled: more than one entry of the log can name.
func TestAnIDThatManyKeysSentCanBeKilled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		ids := e.manyKeys(e.acme, e.other.KeyID, 8_000)
		e.Exec(`UPDATE api_key SET made_by = NULL WHERE made_by = $1`, e.other.KeyID)
		e.Exec(`
			INSERT INTO agent_seen (org_id, agent_id, key_id, host, first_seen_at, last_seen_at)
			SELECT org_id, 'claude-code', id, '', 1, 1 FROM api_key WHERE prefix = 'ak_test_' AND org_id = $1`, e.acme)
		stop := e.kill(agent.OfAgent, "claude-code")
		if len(stop.Keys) != 8_000 || stop.KeyCount != 8_000 {
			t.Errorf("%d keys stop of %d", stop.KeyCount, len(stop.Keys))
		}
		want(t, e.decideAs(e.holder(ids[7_999]), as("x")), verdict.Deny, policy.ByAgent, "stopped")
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
		e.revive(agent.OfAgent, "claude-code")
		want(t, e.decideAs(e.holder(ids[7_999]), as("x")), verdict.Allow, "", "")
	})
}

// TestKeysMakeABoundedNumberOfKeys.
func TestKeysMakeABoundedNumberOfKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		terminal := e.terminal()
		ids := e.manyKeys(e.acme, terminal.KeyID, 1_000)
		_, err := e.keys.Provision(t.Context(), terminal, apikey.NewKey{Name: "p", OrgID: e.acme, Product: "p"})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("one more: %v", err)
		}
		e.Exec(`UPDATE api_key SET revoked_at = 1 WHERE id = $1`, ids[0])
		if _, err := e.keys.Provision(t.Context(), terminal, apikey.NewKey{
			Name: "p", OrgID: e.acme, Product: "p",
		}); err != nil {
			t.Errorf("after a revocation: %v", err)
		}
		if _, err := e.keys.Provision(t.Context(), e.owner, apikey.NewKey{
			Name: "p", OrgID: e.acme, Product: "p",
		}); err != nil {
			t.Errorf("a person: %v", err)
		}
	})
}

// TestAKeyGetsABoundedNumberOfLeasesAMinute, however short they are.
func TestAKeyGetsABoundedNumberOfLeasesAMinute(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.leases()
		ask := func() error {
			_, err := e.decisions.Lease(t.Context(), e.agent, enforcement.LeaseRequest{
				Tools: []lease.Tool{readTool}, Life: time.Second,
			})
			return err
		}
		for i := range 100 {
			if err := ask(); err != nil {
				t.Fatalf("lease %d: %v", i, err)
			}
		}
		e.Pass(2 * time.Second)
		testenv.WantFault(t, "one more, when all have ended", ask(), fault.TooMany)
		e.Pass(time.Minute)
		if err := ask(); err != nil {
			t.Errorf("after a minute: %v", err)
		}
		e.Pass(91 * 24 * time.Hour)
		if err := e.agents.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := e.count(`agent_lease`) + e.count(`agent_lease_tool`); n != 0 {
			t.Errorf("%d rows of old leases are left", n)
		}
	})
}
