package apikey_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// env is two organizations, and two persons who belong to both.
type env struct {
	*testenv.Env
	keys         *apikey.Service
	acme, globex string
	ada, bob     string
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		e := &env{Env: base, keys: newService(base.DB)}
		e.acme, e.globex = e.Organization("Acme"), e.Organization("Globex")
		e.ada, e.bob = e.User("ada@example.org"), e.User("bob@example.org")
		for _, orgID := range []string{e.acme, e.globex} {
			e.Member(orgID, e.ada, principal.Member)
			e.Member(orgID, e.bob, principal.Member)
		}
		body(t, e)
	})
}

func newService(db *database.DB) *apikey.Service {
	nothing := func(context.Context, *database.Tx, string, string) error { return nil } // belongs to keys here
	return apikey.New(db, audit.Unsigned(db), slog.New(slog.DiscardHandler), nothing)
}

func (e *env) create(p principal.Principal, n apikey.NewKey) apikey.Issued {
	e.T.Helper()
	issued, err := e.keys.Create(e.T.Context(), p, n)
	if err != nil {
		e.T.Fatalf("create: %v", err)
	}
	return issued
}

// memberKey is an ordinary key of a member of an organization.
func (e *env) memberKey(userID, orgID string) apikey.Issued {
	e.T.Helper()
	return e.create(testenv.Person(userID, orgID, principal.Member), apikey.NewKey{Name: "agent", OrgID: orgID})
}

// terminal is the key of a terminal and the caller it makes.
func (e *env) terminal(userID, orgID string) (apikey.Issued, principal.Principal) {
	e.T.Helper()
	var issued apikey.Issued
	err := e.DB.Write(e.T.Context(), database.Change{
		Logs: []string{audit.LogOf(orgID)},
		Do: func(ctx context.Context, tx *database.Tx) (err error) {
			issued, err = e.keys.Add(ctx, tx, principal.Operator(), userID, apikey.NewKey{
				Name: "terminal", OrgID: orgID, Scopes: principal.TerminalScopes(),
			})
			return err
		},
	})
	if err != nil {
		e.T.Fatalf("add: %v", err)
	}
	return issued, e.resolve(issued)
}

func (e *env) resolve(issued apikey.Issued) principal.Principal {
	e.T.Helper()
	p, err := e.keys.Resolve(e.T.Context(), issued.Secret.Reveal())
	if err != nil {
		e.T.Fatalf("resolve: %v", err)
	}
	return p
}

// get reads a key as its owner sees it.
func (e *env) get(id, ownerID string) apikey.Key {
	e.T.Helper()
	list, err := e.keys.List(e.T.Context(), testenv.Person(ownerID, "", ""), "", 0)
	if err != nil {
		e.T.Fatalf("list: %v", err)
	}
	for _, k := range list.Items {
		if k.ID == id {
			return k
		}
	}
	e.T.Fatalf("key %s is not among the %d of its owner", id, len(list.Items))
	return apikey.Key{}
}

// entry is an audit entry in the words of a test.
type entry struct {
	Action, ActorKind, ActorID, SubjectType, SubjectID string
	Payload                                            map[string]any
}

func (e *env) log(orgID string) []entry {
	e.T.Helper()
	var entries []entry
	for _, s := range e.Entries(audit.LogOf(orgID)) {
		var record struct {
			Actor   struct{ Kind, ID string }
			Subject struct{ Type, ID string }
		}
		item := entry{Action: s.Action}
		if err := json.Unmarshal([]byte(s.Record), &record); err != nil {
			e.T.Fatal(err)
		}
		if err := json.Unmarshal([]byte(s.Payload), &item.Payload); err != nil {
			e.T.Fatal(err)
		}
		item.ActorKind, item.ActorID = record.Actor.Kind, record.Actor.ID
		item.SubjectType, item.SubjectID = record.Subject.Type, record.Subject.ID
		entries = append(entries, item)
	}
	return entries
}

// actions are those of a log, each after a space.
func (e *env) actions(orgID string) (text string) {
	e.T.Helper()
	for _, action := range e.Actions(audit.LogOf(orgID)) {
		text += " " + action
	}
	return text
}

func names(keys []apikey.Key) string {
	text := ""
	for _, k := range keys {
		text += fmt.Sprint(" ", k.Name)
	}
	return text
}
