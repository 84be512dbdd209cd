package approval_test

import (
	"context"
	"crypto/sha256"
	"testing"

	"writ/internal/approval"
	"writ/internal/approval/pattern"
	"writ/internal/canonical"
	"writ/internal/database"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// env is an organization of ada, who owns a key, and people who may approve.
type env struct {
	*testenv.Env
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
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		e := &env{Env: base, approvals: approval.New(base.DB, base.Log, sources), org: base.Organization("Acme")}
		e.ada = e.person(principal.Owner)
		e.key = e.Key(e.ada.UserID, e.org, principal.RequestableScopes()...)
		body(t, e)
	})
}

func (e *env) write(do func(ctx context.Context, tx *database.Tx) error) {
	e.T.Helper()
	e.Write(e.org, do)
}

// person is a new member of the organization.
func (e *env) person(role principal.Role) principal.Principal {
	e.T.Helper()
	return e.NewPerson(e.org, role)
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

func argumentPattern(t *testing.T, text string) pattern.Pattern {
	t.Helper()
	p, err := pattern.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// canonicalOf is arguments as a decision hands them over.
func canonicalOf(t testing.TB, text string) string {
	t.Helper()
	out, err := canonical.Transform([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(out)
}
