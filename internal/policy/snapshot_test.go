package policy_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// TestReplicasAreNeverStale: what one server changes, the next question to
// another is answered by.
func TestReplicasAreNeverStale(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		db := e.DB
		if e.DB.Engine() == database.PostgreSQL {
			db = dbtest.Open(t, e.Options)
		}
		other := policy.New(db, audit.Unsigned(db), nil, policy.ProposalNotifier{})
		want := func(what string, v verdict.Verdict) {
			t.Helper()
			if d := e.sayBy(other, toolcall.Call{}); d.Verdict != v {
				t.Errorf("the other server, %s: %s (%s), want %s", what, d.Verdict, d.Reason, v)
			}
		}
		want("without a policy", verdict.Deny)
		allow := e.active(yaml("allow", "allow *"))
		want("after an activation", verdict.Allow)
		deny := e.active(yaml("deny", "deny bank.*"))
		want("after another", verdict.Deny)
		e.bind(deny.ID, policy.Bindings{Clients: []string{"bot"}})
		want("after a binding", verdict.Allow)
		e.bind(deny.ID, policy.Bindings{})
		want("after none", verdict.Deny)
		e.update(deny.ID, yaml("deny", "deny other.*"))
		want("after an edit", verdict.Deny)
		e.activate(deny.ID, 2)
		want("after its activation", verdict.Allow)
		if _, err := e.policies.Deactivate(t.Context(), e.owner, allow.ID); err != nil {
			t.Fatal(err)
		}
		want("after a deactivation", verdict.Deny)
	})
}

// TestAnswersWhilePoliciesChange asks from many sides while policies change: the
// policy counts for some at any time, and never for who asks.
func TestAnswersWhilePoliciesChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active(yaml("pay", "allow bank.*"))
		e.bind(full.ID, policy.Bindings{Clients: []string{"bot"}})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					x, err := e.policies.Check(context.Background(), e.owner, bankCall())
					if err != nil || x.Decision.Verdict != verdict.Deny {
						t.Errorf("for nobody: %s (%v); the policy never counts for them", x.Decision.Verdict, err)
						return
					}
				}
			})
		}
		for range 20 {
			if _, err := e.policies.Deactivate(t.Context(), e.owner, full.ID); err != nil {
				t.Error(err)
			}
			e.bind(full.ID, policy.Bindings{Roles: []string{"viewer"}})
			if _, err := e.policies.Activate(t.Context(), e.owner, full.ID, 1); err != nil {
				t.Error(err)
			}
		}
		close(stop)
		wg.Wait()
	})
}

// TestBrokenPoliciesDeny damages what is stored in every way it can be: nothing
// may be allowed because a policy is left out.
func TestBrokenPoliciesDeny(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"a text that does not parse":       `UPDATE policy_version SET source = '{', digest = '021fb596db81e6d02bf3d2586ee3981fe519f275c0ac9ca76bbcf2ebb4097d96' WHERE policy_id = $1`,
		"another text":                     `UPDATE policy_version SET source = REPLACE(source, 'deny', 'allow') WHERE policy_id = $1`,
		"no text":                          `DELETE FROM policy_version WHERE policy_id = $1`,
		"an unknown format":                `UPDATE policy_version SET format = 'toml' WHERE policy_id = $1`,
		"a version that is not there":      `UPDATE policy SET active_version = 7 WHERE id = $1`,
		"a version of another policy":      `UPDATE policy_version SET org_id = 'elsewhere' WHERE policy_id = $1`,
		"a binding of an unknown kind":     `INSERT INTO policy_binding (org_id, policy_id, kind, subject) SELECT org_id, id, 'planet', 'mars' FROM policy WHERE id = $1`,
		"a bound policy with such, beside": `INSERT INTO policy_binding (org_id, policy_id, kind, subject) SELECT org_id, id, k.kind, 'x' FROM policy CROSS JOIN (SELECT 'member' AS kind UNION SELECT 'planet') k WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				e.active(yaml("everything", "allow *"))
				deny := e.active(yaml("pay", "deny bank.*"))
				e.Exec(damage, deny.ID)
				for _, s := range []*policy.Service{
					policy.New(e.DB, e.Log, nil, policy.ProposalNotifier{}), e.policies,
				} {
					x, err := s.Check(t.Context(), e.owner, bankCall())
					if err == nil && x.Decision.Verdict != verdict.Deny {
						t.Errorf("%s (%s), want a deny or an error", x.Decision.Verdict, x.Decision.Reason)
					}
					if err == nil && x.Decision.Reason == "" {
						t.Error("a deny without a reason")
					}
				}
				if _, err := policy.New(e.DB, e.Log, nil,
					policy.ProposalNotifier{}).Snapshot(t.Context(), e.acme); err == nil {
					t.Error("a snapshot was made without it")
				}
			})
		})
	}
}

// TestSnapshotsRecover: once the damage is gone, answers are as before.
func TestSnapshotsRecover(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active(yaml("pay", "allow bank.*"))
		e.Exec(`UPDATE policy_version SET digest = 'x' WHERE policy_id = $1`, full.ID)
		s := policy.New(e.DB, e.Log, nil, policy.ProposalNotifier{})
		var broken *policy.BrokenError
		if _, err := s.Snapshot(t.Context(), e.acme); !errors.As(err, &broken) || broken.PolicyID != full.ID ||
			broken.Version != 1 {
			t.Fatalf("snapshot of a damaged policy: %v", err)
		}
		e.Exec(`UPDATE policy_version SET digest = $2 WHERE policy_id = $1`, full.ID, full.Version.Digest)
		if d := e.sayBy(s, toolcall.Call{}); d.Verdict != verdict.Allow {
			t.Errorf("after the repair: %s (%s)", d.Verdict, d.Reason)
		}
	})
}

// TestDamagedTextIsNotRestored: a rollback must not give a text that somebody
// changed behind our back a digest of its own.
func TestDamagedTextIsNotRestored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active(yaml("pay", "deny bank.*"))
		e.update(full.ID, yaml("pay", "deny *"))
		e.Exec(`UPDATE policy_version SET source = REPLACE(source, 'deny', 'allow') WHERE policy_id = $1 AND version = 1`, full.ID)
		if _, err := e.policies.Rollback(t.Context(), e.owner, full.ID, 1); err == nil {
			t.Error("restored a damaged text")
		}
		if _, err := e.policies.Get(t.Context(), e.owner, full.ID, 1); err == nil {
			t.Error("showed a damaged text")
		}
		e.activate(full.ID, 2)
		e.wantVerdict("by the version that is whole", verdict.Deny)
	})
}

// TestSetsAreKept: a change that is not about policies makes no other set, and one
// that is makes another.
func TestSetsAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active(yaml("pay", "deny bank.*"))
		before, err := e.policies.Snapshot(t.Context(), e.acme)
		if err != nil {
			t.Fatal(err)
		}
		e.create(yaml("draft"))
		same, err := e.policies.Snapshot(t.Context(), e.acme)
		if err != nil || same.Set != before.Set || same.Generation <= before.Generation {
			t.Errorf("after a draft: another set %t, generation %d after %d (%v)", same.Set != before.Set,
				same.Generation, before.Generation, err)
		}
		e.bind(full.ID, policy.Bindings{Roles: []string{"viewer"}})
		other, err := e.policies.Snapshot(t.Context(), e.acme)
		if err != nil || other.Set == before.Set {
			t.Errorf("after a binding: the same set (%v)", err)
		}
	})
}

func TestSnapshotsOfOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active(yaml("pay", "allow *"))
		e.wantVerdict("here", verdict.Allow)
		x, err := e.policies.Check(t.Context(), person(e.globex, principal.Owner), bankCall())
		if err != nil || x.Decision.Verdict != verdict.Deny {
			t.Errorf("in another organization: %+v, %v", x.Decision, err)
		}
		head, err := audit.ReadHead(t.Context(), e.DB, e.acme)
		if err != nil {
			t.Fatal(err)
		}
		snapshot, err := e.policies.Snapshot(t.Context(), e.acme)
		if err != nil || snapshot.Generation != head.Generation || snapshot.Generation == 0 {
			t.Errorf("generation %d (%v), want %d", snapshot.Generation, err, head.Generation)
		}
	})
}

// TestAgentsSeeWhatDecided: an agent's key is told why, not what else there is.
func TestAgentsSeeWhatDecided(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active(yaml("pay", "deny bank.*", "allow bank.send_money", "hold *"))
		for name, test := range map[string]struct {
			who  principal.Principal
			want int
		}{
			"a person":             {e.owner, 3},
			"an agent":             {key(e.acme, principal.Enforce), 1},
			"an agent that drafts": {key(e.acme, principal.Enforce, principal.DraftPolicy), 3},
		} {
			x, err := e.policies.Check(t.Context(), test.who, bankCall())
			if err != nil || len(x.Rules) != test.want || !x.Rules[0].Decided {
				t.Errorf("%s is told of %+v, %v, want %d rules", name, x.Rules, err, test.want)
			}
		}
	})
}
