package apikey_test

import (
	"context"
	"testing"

	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// TestLimitsAreHandedOn: what somebody makes whose sign-in is good for one
// organization alone is good for that one alone, whichever way it is made.
func TestLimitsAreHandedOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		ada := testenv.Person(e.ada, e.acme, principal.Member)
		ada.LimitedTo = e.acme
		e.vouch(e.ada, e.acme)

		var added apikey.Issued
		err := e.DB.Write(ctx, database.Change{Logs: []string{e.acme, audit.System}, Do: func(
			ctx context.Context, tx *database.Tx,
		) (err error) {
			added, err = e.keys.Add(ctx, tx, ada, e.ada, apikey.NewKey{
				Name: "terminal", OrgID: e.acme, Scopes: []principal.Scope{principal.CLI}, Limited: true,
			})
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		terminal := e.resolve(added)
		again, err := e.keys.IssueCLI(ctx, terminal, e.acme, "again")
		if err != nil {
			t.Fatal(err)
		}
		provisioned, err := e.keys.Provision(ctx, terminal, apikey.NewKey{Name: "p", Product: "p", OrgID: e.acme})
		if err != nil {
			t.Fatal(err)
		}
		unlimited, _ := e.terminal(e.ada, e.acme)
		rotated, err := e.keys.Rotate(ctx, ada, unlimited.ID)
		if err != nil {
			t.Fatal(err)
		}
		free := ada
		free.LimitedTo = ""
		kept, err := e.keys.Rotate(ctx, free, again.ID)
		if err != nil {
			t.Fatal(err)
		}
		for name, key := range map[string]apikey.Issued{
			"added": added, "created": e.create(ada, apikey.NewKey{Name: "k", OrgID: e.acme}),
			"provisioned": provisioned, "rotated by somebody limited": rotated, "limited and rotated": kept,
		} {
			if p := e.resolve(key); p.LimitedTo != e.acme {
				t.Errorf("%s: limited to %q, want %q", name, p.LimitedTo, e.acme)
			}
		}
		if p := e.resolve(e.memberKey(e.ada, e.acme)); p.LimitedTo != "" {
			t.Errorf("a key of somebody without a limit is limited to %q", p.LimitedTo)
		}

		_, err = e.keys.IssueCLI(ctx, terminal, e.globex, "elsewhere")
		testenv.WantFault(t, "issue a terminal key", err, fault.Forbidden)
		_, err = e.keys.Create(ctx, ada, apikey.NewKey{Name: "bound to none"})
		testenv.WantFault(t, "create", err, fault.Forbidden)
	})
}
