package operator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/operator"
	"writ/internal/principal"
	"writ/internal/testenv"
)

func TestOperators(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		ctx, service, command := t.Context(), operator.New(e.DB, e.Log), principal.Operator()
		ada, bob := e.User("ada@example.org"), e.User("bob@example.org")
		since := e.Now()
		testenv.WantFault(t, "add", service.Add(ctx, command, ada), "")
		testenv.WantFault(t, "add again", service.Add(ctx, command, ada), fault.Conflict)
		e.Pass(time.Second)
		testenv.WantFault(t, "add another", service.Add(ctx, command, bob), "")
		want := []operator.Operator{
			{UserID: ada, Email: "ada@example.org", Name: "ada@example.org", AddedAt: since},
			{UserID: bob, Email: "bob@example.org", Name: "bob@example.org", AddedAt: since.Add(time.Second)},
		}
		got, err := service.List(ctx)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("List: %v (-want +got):\n%s", err, diff)
		}
		testenv.WantFault(t, "remove", service.Remove(ctx, command, ada), "")
		testenv.WantFault(t, "remove again", service.Remove(ctx, command, ada), fault.NotFound)
		for id, want := range map[string]bool{ada: false, bob: true, "": false, database.NewID(): false} {
			if is, err := service.Is(ctx, id); is != want || err != nil {
				t.Errorf("Is(%q) = %v, %v", id, is, err)
			}
		}
		wantLog := []string{"operator.added", "operator.added", "operator.removed"}
		if diff := cmp.Diff(wantLog, e.Actions(audit.System)); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
	})
}

// TestOnlyTheCommandMakesOperators: neither an operator nor an owner makes another.
func TestOnlyTheCommandMakesOperators(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		service, org := operator.New(e.DB, e.Log), e.Organization("Blue")
		owner, victim := e.NewPerson(org, principal.Owner), e.User("victim@example.org")
		testenv.WantFault(t, "make the owner one", service.Add(t.Context(), principal.Operator(), owner.UserID), "")
		for name, p := range map[string]principal.Principal{
			"nobody": {}, "an operator who owns an organization": owner, "the proxy": {Kind: principal.Proxy},
			"a key of an operator": e.Key(owner.UserID, org, principal.CLI),
		} {
			testenv.WantFault(t, name+" adds", service.Add(t.Context(), p, victim), fault.Forbidden)
			testenv.WantFault(t, name+" removes", service.Remove(t.Context(), p, owner.UserID), fault.Forbidden)
		}
	})
}

func TestRequire(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		service, org := operator.New(e.DB, e.Log), e.Organization("Blue")
		p := e.NewPerson(org, principal.Viewer)
		testenv.WantFault(t, "before", operator.Require(t.Context(), e.DB, p), fault.Forbidden)
		testenv.WantFault(t, "add", service.Add(t.Context(), principal.Operator(), p.UserID), "")
		testenv.WantFault(t, "an operator", operator.Require(t.Context(), e.DB, p), "")
		limited := p
		limited.LimitedTo = org
		for name, p := range map[string]principal.Principal{
			"nobody": {}, "a limited sign-in": limited, "a key": e.Key(p.UserID, org, principal.CLI),
			"the command itself": principal.Operator(),
		} {
			testenv.WantFault(t, name, operator.Require(t.Context(), e.DB, p), fault.Forbidden)
		}
		err := e.DB.Close()
		if err = errors.Join(err, operator.Require(t.Context(), e.DB, p)); err == nil {
			t.Error("admitted without a database")
		}
	})
}

// TestEndAll: a restore brings nobody back who was removed.
func TestEndAll(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		service, ada := operator.New(e.DB, e.Log), e.User("ada@example.org")
		testenv.WantFault(t, "add", service.Add(t.Context(), principal.Operator(), ada), "")
		e.Write("", func(ctx context.Context, tx *database.Tx) error { return operator.EndAll(ctx, tx) })
		if all, err := service.List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
