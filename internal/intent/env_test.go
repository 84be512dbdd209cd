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
type env struct {
	T            *testing.T
	DB           *database.DB
	Options      database.Options
	plans        *intent.Service
	clock        *atomic.Int64 // microseconds
	acme, globex string
	ada, bob     string
	agent        principal.Principal // a key of ada's in acme
	other        principal.Principal // another one
	foreign      principal.Principal // a key of ada's in globex
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		clock := new(atomic.Int64)
		clock.Store(database.Micros(time.Date(2030, 5, 1, 12, 0, 0, 700_000_000, time.UTC)))
		o.Now = func() time.Time { return database.Time(clock.Load()) }
		db := dbtest.Open(t, o)
		e := &env{
			T:       t,
			DB:      db,
			Options: o,
			plans:   newService(t, db, 1),
			clock:   clock,
		}
		e.acme, e.globex = e.Organization("Acme"), e.Organization("Globex")
		e.ada, e.bob = e.User("ada@example.org"), e.User("bob@example.org")
		e.agent, e.other, e.foreign = e.key(e.ada, e.acme), e.key(e.ada, e.acme), e.key(e.ada, e.globex)
		body(t, e)
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

func (e *env) key(ownerID, orgID string) principal.Principal {
	id := database.NewID()
	e.Exec(`INSERT INTO api_key (id, org_id, owner_id, name, environment, product, scopes, prefix, hash, created_at)
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

func (e *env) mint(p principal.Principal, r intent.Request) intent.Minted {
	e.T.Helper()
	minted, err := e.plans.Mint(e.T.Context(), p, r)
	if err != nil {
		e.T.Fatalf("mint: %v", err)
	}
	return minted
}

// shown is what an SDK sends of a token.
func shown(m intent.Minted) plan.Presented {
	return plan.Presented{
		PlanID: m.PlanID, Reference: m.IntentReference, PlanHash: m.PlanHash, Signature: m.Token.Signature,
	}
}

func (e *env) generation(orgID string) int64 {
	e.T.Helper()
	head, err := audit.ReadHead(e.T.Context(), e.DB, orgID)
	if err != nil {
		e.T.Fatal(err)
	}
	return head.Generation
}

// find finds a plan as a decision does, from a fresh snapshot.
func (e *env) find(orgID string, p plan.Presented) *plan.Declared {
	e.T.Helper()
	d, err := e.plans.Find(e.T.Context(), orgID, e.generation(orgID), p)
	if err != nil {
		e.T.Fatalf("find: %v", err)
	}
	return d
}

// actions are the actions of a log in order.
func (e *env) actions(orgID string) string {
	e.T.Helper()
	entries, err := audit.ReadEntries(e.T.Context(), e.DB, orgID, 0, 1000)
	if err != nil {
		e.T.Fatal(err)
	}
	text := ""
	for _, e := range entries {
		text += " " + e.Action
	}
	return text
}

// everything is every column of the tables of this area, as one text.
func (e *env) everything() string {
	e.T.Helper()
	var b strings.Builder
	for _, table := range []string{"plan", "plan_anchor", "plan_request", "audit_entry"} {
		rows, err := e.DB.Query(e.T.Context(), `SELECT * FROM `+table)
		if err != nil {
			e.T.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			e.T.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				e.T.Fatal(err)
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
			e.T.Fatal(err)
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
