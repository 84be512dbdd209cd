package apikey_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/principal"
)

// env is a database with two organizations, two persons who belong to both, and
// a clock that stands still until it is moved.
type env struct {
	T        *testing.T
	DB       *database.DB
	keys     *apikey.Service
	clock    *atomic.Int64 // microseconds
	acme     string
	globex   string
	ada, bob string
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		clock := new(atomic.Int64)
		clock.Store(database.Micros(time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)))
		o.Now = func() time.Time { return database.Time(clock.Load()) }
		db := dbtest.Open(t, o)
		e := &env{T: t, DB: db, keys: newService(db), clock: clock}
		e.acme, e.globex = e.Organization("Acme"), e.Organization("Globex")
		e.ada, e.bob = e.User("ada@example.org"), e.User("bob@example.org")
		for _, orgID := range []string{e.acme, e.globex} {
			e.Exec(`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, 'member', 1), ($1, $3, 'member', 1)`, orgID, e.ada, e.bob)
		}
		body(t, e)
	})
}

func newService(db *database.DB) *apikey.Service {
	return apikey.New(db, audit.Unsigned(db), slog.New(slog.DiscardHandler))
}

func (e *env) Pass(d time.Duration) { e.clock.Add(d.Microseconds()) }

func (e *env) Exec(query string, args ...any) {
	e.T.Helper()
	err := e.DB.Write(e.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	}})
	if err != nil {
		e.T.Fatalf("%s: %v", query, err)
	}
}

func (e *env) Organization(name string) string {
	id := database.NewID()
	e.Exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, $2, 1, 1)`, id, name)
	return id
}

func (e *env) User(email string) string {
	id := database.NewID()
	e.Exec(`INSERT INTO user_account (id, email, name, password_hash, created_at) VALUES ($1, $2, $2, '', 1)`, id,
		email)
	return id
}

// person is a user acting in an organization, or in none.
func person(userID, orgID string, role principal.Role) principal.Principal {
	return principal.Principal{Kind: principal.User, UserID: userID, OrgID: orgID, Role: role}
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
	return e.create(person(userID, orgID, principal.Member), apikey.NewKey{Name: "agent", OrgID: orgID})
}

// terminal is the key of a terminal and the caller it makes.
func (e *env) terminal(userID, orgID string) (apikey.Issued, principal.Principal) {
	e.T.Helper()
	var issued apikey.Issued
	err := e.DB.Write(e.T.Context(), database.Change{
		Logs: []string{audit.LogOf(orgID)},
		Do: func(ctx context.Context, tx *database.Tx) (err error) {
			issued, err = e.keys.Add(ctx, tx, principal.Operator(), userID, apikey.NewKey{
				Name: "terminal", OrgID: orgID, Scopes: append(principal.DefaultScopes(), principal.CLI),
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
	list, err := e.keys.List(e.T.Context(), person(ownerID, "", ""), "", 0)
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
	stored, err := audit.ReadEntries(e.T.Context(), e.DB, audit.LogOf(orgID), 0, 1000)
	if err != nil {
		e.T.Fatal(err)
	}
	var entries []entry
	for _, s := range stored {
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

// actions are the actions of a log in order.
func (e *env) actions(orgID string) string {
	e.T.Helper()
	text := ""
	for _, item := range e.log(orgID) {
		text += " " + item.Action
	}
	return text
}

func wantFault(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("err = %v, want a fault of kind %s", err, kind)
	}
}

func names(keys []apikey.Key) string {
	text := ""
	for _, k := range keys {
		text += fmt.Sprint(" ", k.Name)
	}
	return text
}
