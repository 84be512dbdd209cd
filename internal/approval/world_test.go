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
type world struct {
	t         *testing.T
	db        *database.DB
	clock     *atomic.Int64 // microseconds; it stands still until it is moved
	log       *audit.Log
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

func each(t *testing.T, body func(t *testing.T, w *world)) {
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
		w := &world{
			t:         t,
			db:        db,
			log:       log,
			clock:     clock,
			approvals: approval.New(db, log, sources),
			org:       database.NewID(),
		}
		w.exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, 'Acme', 1, 1)`, w.org)
		w.ada = w.person(principal.Owner)
		w.key = principal.Principal{
			Kind:   principal.Key,
			KeyID:  database.NewID(),
			UserID: w.ada.UserID,
			OrgID:  w.org,
			Scopes: principal.RequestableScopes(),
		}
		w.exec(`INSERT INTO api_key (id, org_id, owner_id, name, environment, product, scopes, prefix, hash, created_at)
			VALUES ($1, $2, $3, '', 'sandbox', '', '', '', $4, 1)`, w.key.KeyID, w.org, w.ada.UserID,
			secret.Hash(w.key.KeyID))
		body(t, w)
	})
}

func (w *world) pass(d time.Duration) { w.clock.Add(d.Microseconds()) }

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	w.write(func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

func (w *world) write(do func(ctx context.Context, tx *database.Tx) error) {
	w.t.Helper()
	if err := w.db.Write(w.t.Context(), database.Change{Logs: []string{w.org}, Do: do}); err != nil {
		w.t.Fatal(err)
	}
}

// person is a new member of the organization.
func (w *world) person(role principal.Role) principal.Principal {
	id := database.NewID()
	w.exec(`INSERT INTO user_account (id, email, name, password_hash, created_at) VALUES ($1, $2, $2, '', 1)`, id,
		id+"@example.org")
	w.exec(`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, $3, 1)`, w.org, id,
		string(role))
	return principal.Principal{Kind: principal.User, UserID: id, OrgID: w.org, Role: role}
}

func (w *world) open(want approval.Requirement) (r *approval.Request) {
	w.t.Helper()
	call := approval.Call{
		OrgID:   w.org,
		KeyID:   w.key.KeyID,
		OwnerID: w.ada.UserID,
		Server:  "bank",
		Tool:    "pay",
		Digest:  []byte(database.NewID()),
	}
	w.write(func(ctx context.Context, tx *database.Tx) (err error) {
		r, err = w.approvals.Open(ctx, tx, call, want)
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
