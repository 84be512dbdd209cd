package apikey_test

import (
	"context"
	"testing"

	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// TestLimitsAreHandedOn: what somebody makes whose sign-in is good for one
// organization alone is good for that one alone, whichever way it is made.
func TestLimitsAreHandedOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		ada := person(w.ada, w.acme, principal.Member)
		ada.LimitedTo = w.acme
		w.vouch(w.ada, w.acme)

		var added apikey.Issued
		err := w.db.Write(ctx, database.Change{Logs: []string{w.acme, audit.System}, Do: func(
			ctx context.Context, tx *database.Tx,
		) (err error) {
			added, err = w.keys.Add(ctx, tx, ada, w.ada, apikey.NewKey{
				Name: "terminal", OrgID: w.acme, Scopes: []principal.Scope{principal.CLI}, Limited: true,
			})
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		terminal := w.resolve(added)
		again, err := w.keys.IssueCLI(ctx, terminal, w.acme, "again")
		if err != nil {
			t.Fatal(err)
		}
		provisioned, err := w.keys.Provision(ctx, terminal, apikey.NewKey{Name: "p", Product: "p", OrgID: w.acme})
		if err != nil {
			t.Fatal(err)
		}
		unlimited, _ := w.terminal(w.ada, w.acme)
		rotated, err := w.keys.Rotate(ctx, ada, unlimited.ID)
		if err != nil {
			t.Fatal(err)
		}
		free := ada
		free.LimitedTo = ""
		kept, err := w.keys.Rotate(ctx, free, again.ID)
		if err != nil {
			t.Fatal(err)
		}
		for name, key := range map[string]apikey.Issued{
			"added": added, "created": w.create(ada, apikey.NewKey{Name: "k", OrgID: w.acme}),
			"provisioned": provisioned, "rotated by somebody limited": rotated, "limited and rotated": kept,
		} {
			if p := w.resolve(key); p.LimitedTo != w.acme {
				t.Errorf("%s: limited to %q, want %q", name, p.LimitedTo, w.acme)
			}
		}
		if p := w.resolve(w.memberKey(w.ada, w.acme)); p.LimitedTo != "" {
			t.Errorf("a key of somebody without a limit is limited to %q", p.LimitedTo)
		}

		_, err = w.keys.IssueCLI(ctx, terminal, w.globex, "elsewhere")
		wantFault(t, err, fault.Forbidden)
		_, err = w.keys.Create(ctx, ada, apikey.NewKey{Name: "bound to none"})
		wantFault(t, err, fault.Forbidden)
	})
}
