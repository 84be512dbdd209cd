package intent_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/keyring"
	"writ/internal/principal"
	"writ/internal/secret"
)

// world is a database with two organizations, keys in both, and a clock that
// stands still until it is moved.
type world struct {
	t            *testing.T
	db           *database.DB
	options      database.Options
	plans        *intent.Service
	clock        *atomic.Int64 // microseconds
	acme, globex string
	ada, bob     string
	agent        principal.Principal // a key of ada's in acme
	other        principal.Principal // another one
	foreign      principal.Principal // a key of ada's in globex
}

func each(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		clock := new(atomic.Int64)
		clock.Store(database.Micros(time.Date(2030, 5, 1, 12, 0, 0, 700_000_000, time.UTC)))
		o.Now = func() time.Time { return database.Time(clock.Load()) }
		db := dbtest.Open(t, o)
		w := &world{
			t:       t,
			db:      db,
			options: o,
			plans:   newService(t, db, 1),
			clock:   clock,
		}
		w.acme, w.globex = w.organization("Acme"), w.organization("Globex")
		w.ada, w.bob = w.user("ada@example.org"), w.user("bob@example.org")
		w.agent, w.other, w.foreign = w.key(w.ada, w.acme), w.key(w.ada, w.acme), w.key(w.ada, w.globex)
		body(t, w)
	})
}

func newService(t *testing.T, db *database.DB, fill byte) *intent.Service {
	t.Helper()
	sealer, err := secret.NewSealer(bytes.Repeat([]byte{fill}, secret.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	log := audit.Unsigned(db)
	return intent.New(db, log, keyring.New(db, log, sealer), sealer)
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

func (w *world) key(ownerID, orgID string) principal.Principal {
	id := database.NewID()
	w.exec(`INSERT INTO api_key (id, org_id, owner_id, name, environment, product, scopes, prefix, hash, created_at)
		VALUES ($1, $2, $3, '', 'sandbox', '', '', '', $4, 1)`, id, orgID, ownerID, secret.Hash(id))
	return principal.Principal{
		Kind:   principal.Key,
		KeyID:  id,
		UserID: ownerID,
		OrgID:  orgID,
		Scopes: []principal.Scope{principal.Enforce},
	}
}

// person is a user acting in an organization.
func person(userID, orgID string, role principal.Role) principal.Principal {
	return principal.Principal{Kind: principal.User, UserID: userID, OrgID: orgID, Role: role}
}

// request asks for a token for a plan.
func request(raw string) intent.Request {
	return intent.Request{UserID: "u1", AgentID: "agent", ContextID: "default", Plan: []byte(raw)}
}

const twoSteps = `{"goal":"build","steps":[{"action":"Read","mcp":"fs"},{"action":"Bash","mcp":"sh","params":{"command":"make"}}]}`

func (w *world) mint(p principal.Principal, r intent.Request) intent.Minted {
	w.t.Helper()
	minted, err := w.plans.Mint(w.t.Context(), p, r)
	if err != nil {
		w.t.Fatalf("mint: %v", err)
	}
	return minted
}

// shown is what an SDK sends of a token.
func shown(m intent.Minted) plan.Presented {
	return plan.Presented{
		PlanID: m.PlanID, Reference: m.IntentReference, PlanHash: m.PlanHash, Signature: m.Token.Signature,
	}
}

func (w *world) generation(orgID string) int64 {
	w.t.Helper()
	head, err := audit.ReadHead(w.t.Context(), w.db, orgID)
	if err != nil {
		w.t.Fatal(err)
	}
	return head.Generation
}

// find finds a plan as a decision does, from a fresh snapshot.
func (w *world) find(orgID string, p plan.Presented) *plan.Declared {
	w.t.Helper()
	d, err := w.plans.Find(w.t.Context(), orgID, w.generation(orgID), p)
	if err != nil {
		w.t.Fatalf("find: %v", err)
	}
	return d
}

// actions are the actions of a log in order.
func (w *world) actions(orgID string) string {
	w.t.Helper()
	entries, err := audit.ReadEntries(w.t.Context(), w.db, orgID, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	text := ""
	for _, e := range entries {
		text += " " + e.Action
	}
	return text
}

// everything is every column of the tables of this area, as one text.
func (w *world) everything() string {
	w.t.Helper()
	var b strings.Builder
	for _, table := range []string{"plan", "plan_anchor", "plan_request", "audit_entry"} {
		rows, err := w.db.Query(w.t.Context(), `SELECT * FROM `+table)
		if err != nil {
			w.t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			w.t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				w.t.Fatal(err)
			}
			for _, v := range values {
				switch v := (*v.(*any)).(type) {
				case []byte:
					b.Write(v)
				default:
					fmt.Fprint(&b, v)
				}
				b.WriteByte('\n')
			}
		}
		if err := rows.Close(); err != nil {
			w.t.Fatal(err)
		}
	}
	return b.String()
}

func wantFault(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("err = %v, want a fault of kind %s", err, kind)
	}
}

func toJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
