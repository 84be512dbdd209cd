package apikey_test

import (
	"context"
	"slices"
	"testing"

	"writ/internal/apikey"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// vouchedTerminal is the key of a terminal that somebody let in whom the provider
// of the organization had vouched for.
func (e *env) vouchedTerminal(userID, orgID string) apikey.Issued {
	e.T.Helper()
	issued, _ := e.terminal(userID, orgID)
	e.Exec(`UPDATE api_key SET limited = 1 WHERE id = $1`, issued.ID)
	e.vouch(userID, orgID)
	return issued
}

// vouch has the provider of an organization know a person.
func (e *env) vouch(userID, orgID string) {
	e.T.Helper()
	e.Exec(`INSERT INTO external_identity (id, org_id, issuer, subject, user_id, email, linked, created_at) VALUES ($1, $2, 'i', $1, $3, '', 1, 1)`,
		database.NewID(), orgID, userID)
}

// ending runs a change that ends keys of an organization.
func (e *env) ending(orgID string, do func(ctx context.Context, tx *database.Tx) error) {
	e.T.Helper()
	if err := e.DB.Write(e.T.Context(), database.Change{Logs: []string{orgID}, Do: do}); err != nil {
		e.T.Fatalf("end keys: %v", err)
	}
	e.keys.Forget()
}

// wantWorking checks which keys still work.
func (e *env) wantWorking(what string, keys map[string]apikey.Issued, want ...string) {
	e.T.Helper()
	var works []string
	for name, key := range keys {
		if _, err := e.keys.Resolve(e.T.Context(), key.Secret.Reveal()); err == nil {
			works = append(works, name)
		}
	}
	slices.Sort(works)
	slices.Sort(want)
	if !slices.Equal(works, want) {
		e.T.Errorf("%s: %q work, want %q", what, works, want)
	}
}

// TestTerminalsEndWithTheirSignIn: what stands for a person ends with the word that
// let the person in; the keys of agents, of others and of other organizations go on.
func TestTerminalsEndWithTheirSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		limited := testenv.Person(e.ada, e.acme, principal.Member)
		limited.LimitedTo = e.acme
		free, _ := e.terminal(e.ada, e.acme)
		keys := map[string]apikey.Issued{
			"ada's": e.vouchedTerminal(e.ada, e.acme), "bob's": e.vouchedTerminal(e.bob, e.acme),
			"elsewhere": e.vouchedTerminal(e.ada, e.globex),
			"unvouched": free, "agent": e.create(limited, apikey.NewKey{Name: "a", OrgID: e.acme}),
		}
		owner := testenv.Person(e.bob, e.acme, principal.Owner)
		e.ending(e.acme, func(ctx context.Context, tx *database.Tx) error {
			return e.keys.EndVouched(ctx, tx, owner, e.acme, e.ada)
		})
		e.wantWorking("without ada's", keys, "bob's", "elsewhere", "unvouched", "agent")
		before := len(e.log(e.acme))
		e.ending(e.acme, func(ctx context.Context, tx *database.Tx) error {
			return e.keys.EndVouched(ctx, tx, owner, e.acme, "")
		})
		e.wantWorking("without anyone's", keys, "elsewhere", "unvouched", "agent")
		log := e.log(e.acme)
		if len(log) != before+1 || log[before].Action != "key.revoked" || log[before].SubjectID != keys["bob's"].ID ||
			log[before].ActorID != e.bob {
			t.Errorf("the log ends with %+v, want the one key that ended now", log[before:])
		}
	})
}

// TestTerminalsThatAProviderDidNotVouchFor end where it is enforced, but not those
// of owners.
func TestTerminalsThatAProviderDidNotVouchFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.Exec(`UPDATE organization_member SET role = 'owner' WHERE user_id = $1 AND org_id = $2`, e.bob, e.acme)
		mine, _ := e.terminal(e.ada, e.acme)
		elsewhere, _ := e.terminal(e.ada, e.globex)
		owners, owner := e.terminal(e.bob, e.acme)
		keys := map[string]apikey.Issued{
			"mine": mine, "elsewhere": elsewhere, "owner's": owners, "vouched": e.vouchedTerminal(e.ada, e.acme),
			"agent": e.memberKey(e.ada, e.acme),
		}
		e.ending(e.acme, func(ctx context.Context, tx *database.Tx) error {
			return e.keys.EndUnvouched(ctx, tx, owner, e.acme)
		})
		e.wantWorking("where it is enforced", keys, "elsewhere", "owner's", "vouched", "agent")
	})
}

// TestTerminalsOfNobody: without an identity a terminal that a provider had let in
// stands for nobody, also for who holds the token of its plan.
func TestTerminalsOfNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		key := e.vouchedTerminal(e.ada, e.acme)
		e.vouch(e.bob, e.acme)
		e.vouch(e.ada, e.globex)
		if _, err := e.keys.Holder(t.Context(), key.ID); err != nil {
			t.Errorf("while the provider vouches: %v", err)
		}
		e.Exec(`DELETE FROM external_identity WHERE user_id = $1 AND org_id = $2`, e.ada, e.acme)
		e.keys.Forget()
		_, err := e.keys.Resolve(t.Context(), key.Secret.Reveal())
		testenv.WantFault(t, "resolve", err, fault.Unauthenticated)
		_, err = e.keys.Holder(t.Context(), key.ID)
		testenv.WantFault(t, "holder", err, fault.Unauthenticated)
	})
}

// TestEndedKeysMakeNoMore: a key that ended after it was presented leaves nothing
// behind that goes on in its place.
func TestEndedKeysMakeNoMore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		issued, caller := e.terminal(e.ada, e.acme)
		e.Exec(`UPDATE api_key SET revoked_at = 1 WHERE id = $1`, issued.ID)
		before := len(e.log(e.acme))
		_, err := e.keys.IssueCLI(t.Context(), caller, e.globex, "next")
		testenv.WantFault(t, "issue a terminal key", err, fault.Unauthenticated)
		caller.Role = principal.Member
		_, err = e.keys.Provision(t.Context(), caller, apikey.NewKey{Name: "next", OrgID: e.acme, Product: "p"})
		testenv.WantFault(t, "provision", err, fault.Unauthenticated)
		if n := len(e.log(e.acme)); n != before {
			t.Errorf("%d more entries in the log", n-before)
		}
	})
}

// TestTerminalsEndWithAPassword of their owner; those from after it, and agents, go
// on.
func TestTerminalsEndWithAPassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		before, _ := e.terminal(e.ada, e.acme)
		others, _ := e.terminal(e.bob, e.acme)
		keys := map[string]apikey.Issued{"before": before, "bob's": others, "agent": e.memberKey(e.ada, e.acme)}
		e.Exec(`UPDATE user_account SET terminals_since = $2 WHERE id = $1`, e.ada, database.Micros(before.CreatedAt)+1)
		e.keys.Forget()
		e.wantWorking("after the password", keys, "bob's", "agent")
		e.Exec(`UPDATE user_account SET terminals_since = $2 WHERE id = $1`, e.ada, database.Micros(before.CreatedAt))
		e.wantWorking("one made with it", keys, "before", "bob's", "agent")
		if _, err := e.keys.Holder(t.Context(), before.ID); err != nil {
			t.Errorf("its plans: %v", err)
		}
	})
}
