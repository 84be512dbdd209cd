package policy

import (
	"context"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/toolcall"
)

// TestDraftsKeepNobodyWaiting: who drafts, and tries drafts out, takes turns with
// others who do. Neither decisions nor activations wait for them.
func TestDraftsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, owner := New(db, audit.Unsigned(db), nil, ProposalNotifier{}), newOwner(t, db)
		made, err := s.Create(t.Context(), owner, Source{
			Text: "version: v1\nname: p\nrules: []\n", Format: document.YAML,
		})
		if err != nil {
			t.Fatal(err)
		}
		occupy := func(c *compiler) (leave func()) {
			for range compilers {
				c.slots <- struct{}{}
			}
			return func() {
				for range compilers {
					<-c.slots
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()

		leave := occupy(s.compiler)
		if _, err := s.Activate(ctx, owner, made.ID, 1); err != nil {
			t.Errorf("activate while drafts are compiled: %v", err)
		}
		leave()

		leave = occupy(s.loader)
		if _, err := s.Simulate(ctx, owner, Subject{PolicyID: made.ID}, toolcall.Call{
			Server: "s", Tool: "t",
		}); err != nil {
			t.Errorf("a simulation waits where decisions do: %v", err)
		}
		leave()
	})
}

// newOwner is the owner of a new organization.
func newOwner(t *testing.T, db *database.DB) principal.Principal {
	t.Helper()
	owner := principal.Principal{
		Kind: principal.User, UserID: database.NewID(), OrgID: database.NewID(), Role: principal.Owner,
	}
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, 'Acme', 1, 1)`,
			owner.OrgID)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return owner
}

// TestAShadowThatCannotBeCompiledEndsNothing: it is compiled beside everything else,
// where nothing would catch a panic.
func TestAShadowThatCannotBeCompiledEndsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, owner := New(db, audit.Unsigned(db), nil, ProposalNotifier{}), newOwner(t, db)
		made, err := s.Create(t.Context(), owner, Source{
			Text: "version: v1\nname: p\nrules: []\n", Format: document.YAML,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.StartShadow(t.Context(), owner, made.ID, 1); err != nil {
			t.Fatal(err)
		}
		other := New(db, audit.Unsigned(db), nil, ProposalNotifier{})
		other.compiler = nil // panics when it is used
		if err := other.PrepareShadows(t.Context(), owner.OrgID); err != nil {
			t.Fatal(err)
		}
		snapshot, err := other.Snapshot(t.Context(), owner.OrgID)
		if err != nil || len(snapshot.Shadows) != 1 || snapshot.Shadows[0].Problem != notCompiled {
			t.Errorf("%+v, %v; want a shadow with a problem", snapshot.Shadows, err)
		}
	})
}
