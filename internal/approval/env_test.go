package approval_test

import (
	"context"
	"crypto/sha256"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/secret"
)

// world is an organization of ada, who owns a key, and people who may approve.
type env struct {
	T         *testing.T
	DB        *database.DB
	clock     *atomic.Int64 // microseconds; it stands still until it is moved
	Log       *audit.Log
	approvals *approval.Service
	org       string
	ada       principal.Principal
	key       principal.Principal
}

// sources have digests under no key.
var sources = approval.Sources{
	Approvers: organization.CountApprovers, Role: organization.RoleOf, Address: organization.Address,
	Digest: func(_ context.Context, orgID, canonical string) ([]byte, error) {
		sum := sha256.Sum256([]byte(orgID + canonical))
		return sum[:], nil
	},
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		clock := new(atomic.Int64)
		clock.Store(database.Micros(time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)))
		o.Now = func() time.Time { return database.Time(clock.Load()) }
		db, err := database.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		log := audit.Unsigned(db)
		e := &env{
			T:         t,
			DB:        db,
			Log:       log,
			clock:     clock,
			approvals: approval.New(db, log, sources),
			org:       database.NewID(),
		}
		e.Exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, 'Acme', 1, 1)`, e.org)
		e.ada = e.person(principal.Owner)
		e.key = principal.Principal{
			Kind:   principal.Key,
			KeyID:  database.NewID(),
			UserID: e.ada.UserID,
			OrgID:  e.org,
			Scopes: principal.RequestableScopes(),
		}
		e.Exec(`INSERT INTO api_key (id, org_id, owner_id, name, environment, product, scopes, prefix, hash, created_at)
			VALUES ($1, $2, $3, '', 'sandbox', '', '', '', $4, 1)`, e.key.KeyID, e.org, e.ada.UserID,
			secret.Hash(e.key.KeyID))
		body(t, e)
	})
}

func (e *env) Pass(d time.Duration) { e.clock.Add(d.Microseconds()) }

func (e *env) Exec(query string, args ...any) {
	e.T.Helper()
	e.write(func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

func (e *env) write(do func(ctx context.Context, tx *database.Tx) error) {
	e.T.Helper()
	if err := e.DB.Write(e.T.Context(), database.Change{Logs: []string{e.org}, Do: do}); err != nil {
		e.T.Fatal(err)
	}
}

// person is a new member of the organization.
func (e *env) person(role principal.Role) principal.Principal {
	id := database.NewID()
	e.Exec(`INSERT INTO user_account (id, email, name, password_hash, created_at) VALUES ($1, $2, $2, '', 1)`, id,
		id+"@example.org")
	e.Exec(`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, $3, 1)`, e.org, id,
		string(role))
	return principal.Principal{Kind: principal.User, UserID: id, OrgID: e.org, Role: role}
}

func (e *env) open(want approval.Requirement) (r *approval.Request) {
	e.T.Helper()
	call := approval.Call{
		OrgID:   e.org,
		KeyID:   e.key.KeyID,
		OwnerID: e.ada.UserID,
		Server:  "bank",
		Tool:    "pay",
		Digest:  []byte(database.NewID()),
	}
	e.write(func(ctx context.Context, tx *database.Tx) (err error) {
		r, err = e.approvals.Open(ctx, tx, call, want)
		return err
	})
	return r
}

func wantFault(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: %v, want %s", what, err, kind)
	}
}
