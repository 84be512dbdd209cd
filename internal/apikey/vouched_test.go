package apikey_test

import (
	"context"
	"slices"
	"testing"

	"writ/internal/apikey"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// vouchedTerminal is the key of a terminal that somebody let in whom the provider
// of the organization had vouched for.
func (w *world) vouchedTerminal(userID, orgID string) apikey.Issued {
	w.t.Helper()
	issued, _ := w.terminal(userID, orgID)
	w.exec(`UPDATE api_key SET limited = 1 WHERE id = $1`, issued.ID)
	w.vouch(userID, orgID)
	return issued
}

// vouch has the provider of an organization know a person.
func (w *world) vouch(userID, orgID string) {
	w.t.Helper()
	w.exec(`INSERT INTO external_identity (id, org_id, issuer, subject, user_id, email, linked, created_at) VALUES ($1, $2, 'i', $1, $3, '', 1, 1)`,
		database.NewID(), orgID, userID)
}

// ending runs a change that ends keys of an organization.
func (w *world) ending(orgID string, do func(ctx context.Context, tx *database.Tx) error) {
	w.t.Helper()
	if err := w.db.Write(w.t.Context(), database.Change{Logs: []string{orgID}, Do: do}); err != nil {
		w.t.Fatalf("end keys: %v", err)
	}
	w.keys.Forget()
}

// wantWorking checks which keys still work.
func (w *world) wantWorking(what string, keys map[string]apikey.Issued, want ...string) {
	w.t.Helper()
	var works []string
	for name, key := range keys {
		if _, err := w.keys.Resolve(w.t.Context(), key.Secret.Reveal()); err == nil {
			works = append(works, name)
		}
	}
	slices.Sort(works)
	slices.Sort(want)
	if !slices.Equal(works, want) {
		w.t.Errorf("%s: %q work, want %q", what, works, want)
	}
}

// TestTerminalsEndWithTheirSignIn: what stands for a person ends with the word that
// let the person in; the keys of agents, of others and of other organizations go on.
func TestTerminalsEndWithTheirSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		limited := person(w.ada, w.acme, principal.Member)
		limited.LimitedTo = w.acme
		free, _ := w.terminal(w.ada, w.acme)
		keys := map[string]apikey.Issued{
			"ada's": w.vouchedTerminal(w.ada, w.acme), "bob's": w.vouchedTerminal(w.bob, w.acme),
			"elsewhere": w.vouchedTerminal(w.ada, w.globex),
			"unvouched": free, "agent": w.create(limited, apikey.NewKey{Name: "a", OrgID: w.acme}),
		}
		owner := person(w.bob, w.acme, principal.Owner)
		w.ending(w.acme, func(ctx context.Context, tx *database.Tx) error {
			return w.keys.EndVouched(ctx, tx, owner, w.acme, w.ada)
		})
		w.wantWorking("without ada's", keys, "bob's", "elsewhere", "unvouched", "agent")
		before := len(w.log(w.acme))
		w.ending(w.acme, func(ctx context.Context, tx *database.Tx) error {
			return w.keys.EndVouched(ctx, tx, owner, w.acme, "")
		})
		w.wantWorking("without anyone's", keys, "elsewhere", "unvouched", "agent")
		log := w.log(w.acme)
		if len(log) != before+1 || log[before].Action != "key.revoked" || log[before].SubjectID != keys["bob's"].ID ||
			log[before].ActorID != w.bob {
			t.Errorf("the log ends with %+v, want the one key that ended now", log[before:])
		}
	})
}

// TestTerminalsThatAProviderDidNotVouchFor end where it is enforced, but not those
// of owners.
func TestTerminalsThatAProviderDidNotVouchFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.exec(`UPDATE organization_member SET role = 'owner' WHERE user_id = $1 AND org_id = $2`, w.bob, w.acme)
		mine, _ := w.terminal(w.ada, w.acme)
		elsewhere, _ := w.terminal(w.ada, w.globex)
		owners, owner := w.terminal(w.bob, w.acme)
		keys := map[string]apikey.Issued{
			"mine": mine, "elsewhere": elsewhere, "owner's": owners, "vouched": w.vouchedTerminal(w.ada, w.acme),
			"agent": w.memberKey(w.ada, w.acme),
		}
		w.ending(w.acme, func(ctx context.Context, tx *database.Tx) error {
			return w.keys.EndUnvouched(ctx, tx, owner, w.acme)
		})
		w.wantWorking("where it is enforced", keys, "elsewhere", "owner's", "vouched", "agent")
	})
}

// TestTerminalsOfNobody: without an identity a terminal that a provider had let in
// stands for nobody, also for who holds the token of its plan.
func TestTerminalsOfNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		key := w.vouchedTerminal(w.ada, w.acme)
		w.vouch(w.bob, w.acme)
		w.vouch(w.ada, w.globex)
		if _, err := w.keys.Holder(t.Context(), key.ID); err != nil {
			t.Errorf("while the provider vouches: %v", err)
		}
		w.exec(`DELETE FROM external_identity WHERE user_id = $1 AND org_id = $2`, w.ada, w.acme)
		w.keys.Forget()
		_, err := w.keys.Resolve(t.Context(), key.Secret.Reveal())
		wantFault(t, err, fault.Unauthenticated)
		_, err = w.keys.Holder(t.Context(), key.ID)
		wantFault(t, err, fault.Unauthenticated)
	})
}

// TestEndedKeysMakeNoMore: a key that ended after it was presented leaves nothing
// behind that goes on in its place.
func TestEndedKeysMakeNoMore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		issued, caller := w.terminal(w.ada, w.acme)
		w.exec(`UPDATE api_key SET revoked_at = 1 WHERE id = $1`, issued.ID)
		before := len(w.log(w.acme))
		_, err := w.keys.IssueCLI(t.Context(), caller, w.globex, "next")
		wantFault(t, err, fault.Unauthenticated)
		caller.Role = principal.Member
		_, err = w.keys.Provision(t.Context(), caller, apikey.NewKey{Name: "next", OrgID: w.acme, Product: "p"})
		wantFault(t, err, fault.Unauthenticated)
		if n := len(w.log(w.acme)); n != before {
			t.Errorf("%d more entries in the log", n-before)
		}
	})
}

// TestTerminalsEndWithAPassword of their owner; those from after it, and agents, go
// on.
func TestTerminalsEndWithAPassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		before, _ := w.terminal(w.ada, w.acme)
		others, _ := w.terminal(w.bob, w.acme)
		keys := map[string]apikey.Issued{"before": before, "bob's": others, "agent": w.memberKey(w.ada, w.acme)}
		w.exec(`UPDATE user_account SET terminals_since = $2 WHERE id = $1`, w.ada, database.Micros(before.CreatedAt)+1)
		w.keys.Forget()
		w.wantWorking("after the password", keys, "bob's", "agent")
		w.exec(`UPDATE user_account SET terminals_since = $2 WHERE id = $1`, w.ada, database.Micros(before.CreatedAt))
		w.wantWorking("one made with it", keys, "before", "bob's", "agent")
		if _, err := w.keys.Holder(t.Context(), before.ID); err != nil {
			t.Errorf("its plans: %v", err)
		}
	})
}
