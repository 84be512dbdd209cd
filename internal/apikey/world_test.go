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

// world is a database with two organizations, two persons who belong to both, and
// a clock that stands still until it is moved.
type world struct {
	t        *testing.T
	db       *database.DB
	keys     *apikey.Service
	clock    *atomic.Int64 // microseconds
	acme     string
	globex   string
	ada, bob string
}

func each(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		clock := new(atomic.Int64)
		clock.Store(database.Micros(time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)))
		o.Now = func() time.Time { return database.Time(clock.Load()) }
		db := dbtest.Open(t, o)
		w := &world{t: t, db: db, keys: newService(db), clock: clock}
		w.acme, w.globex = w.organization("Acme"), w.organization("Globex")
		w.ada, w.bob = w.user("ada@example.org"), w.user("bob@example.org")
		for _, orgID := range []string{w.acme, w.globex} {
			w.exec(`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, 'member', 1), ($1, $3, 'member', 1)`, orgID, w.ada, w.bob)
		}
		body(t, w)
	})
}

func newService(db *database.DB) *apikey.Service {
	return apikey.New(db, audit.Unsigned(db), slog.New(slog.DiscardHandler))
}

func (w *world) pass(d time.Duration) { w.clock.Add(d.Microseconds()) }

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	err := w.db.Write(w.t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	}})
	if err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
}

func (w *world) organization(name string) string {
	id := database.NewID()
	w.exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, $2, 1, 1)`, id, name)
	return id
}

func (w *world) user(email string) string {
	id := database.NewID()
	w.exec(`INSERT INTO user_account (id, email, name, password_hash, created_at) VALUES ($1, $2, $2, '', 1)`, id,
		email)
	return id
}

// person is a user acting in an organization, or in none.
func person(userID, orgID string, role principal.Role) principal.Principal {
	return principal.Principal{Kind: principal.User, UserID: userID, OrgID: orgID, Role: role}
}

func (w *world) create(p principal.Principal, n apikey.NewKey) apikey.Issued {
	w.t.Helper()
	issued, err := w.keys.Create(w.t.Context(), p, n)
	if err != nil {
		w.t.Fatalf("create: %v", err)
	}
	return issued
}

// memberKey is an ordinary key of a member of an organization.
func (w *world) memberKey(userID, orgID string) apikey.Issued {
	w.t.Helper()
	return w.create(person(userID, orgID, principal.Member), apikey.NewKey{Name: "agent", OrgID: orgID})
}

// terminal is the key of a terminal and the caller it makes.
func (w *world) terminal(userID, orgID string) (apikey.Issued, principal.Principal) {
	w.t.Helper()
	var issued apikey.Issued
	err := w.db.Write(w.t.Context(), database.Change{
		Logs: []string{audit.LogOf(orgID)},
		Do: func(ctx context.Context, tx *database.Tx) (err error) {
			issued, err = w.keys.Add(ctx, tx, principal.Operator(), userID, apikey.NewKey{
				Name: "terminal", OrgID: orgID, Scopes: append(principal.DefaultScopes(), principal.CLI),
			})
			return err
		},
	})
	if err != nil {
		w.t.Fatalf("add: %v", err)
	}
	return issued, w.resolve(issued)
}

func (w *world) resolve(issued apikey.Issued) principal.Principal {
	w.t.Helper()
	p, err := w.keys.Resolve(w.t.Context(), issued.Secret.Reveal())
	if err != nil {
		w.t.Fatalf("resolve: %v", err)
	}
	return p
}

// get reads a key as its owner sees it.
func (w *world) get(id, ownerID string) apikey.Key {
	w.t.Helper()
	list, err := w.keys.List(w.t.Context(), person(ownerID, "", ""), "", 0)
	if err != nil {
		w.t.Fatalf("list: %v", err)
	}
	for _, k := range list.Items {
		if k.ID == id {
			return k
		}
	}
	w.t.Fatalf("key %s is not among the %d of its owner", id, len(list.Items))
	return apikey.Key{}
}

// entry is an audit entry in the words of a test.
type entry struct {
	Action, ActorKind, ActorID, SubjectType, SubjectID string
	Payload                                            map[string]any
}

func (w *world) log(orgID string) []entry {
	w.t.Helper()
	stored, err := audit.ReadEntries(w.t.Context(), w.db, audit.LogOf(orgID), 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var entries []entry
	for _, s := range stored {
		var record struct {
			Actor   struct{ Kind, ID string }
			Subject struct{ Type, ID string }
		}
		e := entry{Action: s.Action}
		if err := json.Unmarshal([]byte(s.Record), &record); err != nil {
			w.t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(s.Payload), &e.Payload); err != nil {
			w.t.Fatal(err)
		}
		e.ActorKind, e.ActorID = record.Actor.Kind, record.Actor.ID
		e.SubjectType, e.SubjectID = record.Subject.Type, record.Subject.ID
		entries = append(entries, e)
	}
	return entries
}

// actions are the actions of a log in order.
func (w *world) actions(orgID string) string {
	w.t.Helper()
	text := ""
	for _, e := range w.log(orgID) {
		text += " " + e.Action
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
