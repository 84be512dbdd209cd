package policy

import (
	"context"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/toolcall"
)

// TestDraftsKeepNobodyWaiting: who drafts, and tries drafts out, takes turns with
// others who do. Neither decisions nor activations wait for them.
func TestDraftsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		s, owner := New(e.DB, e.Log, nil, ProposalNotifier{}), newOwner(e)
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
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()

		leave := occupy(s.compiler)
		ended, end := context.WithCancel(t.Context())
		end()
		if s.Draft(ended, func() error { t.Error("a draft is tried out beside others"); return nil }) == nil {
			t.Error("a draft does not wait for its turn")
		}
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
func newOwner(e *testenv.Env) principal.Principal {
	return testenv.Person(database.NewID(), e.Organization("Acme"), principal.Owner)
}

// TestAShadowThatCannotBeCompiledEndsNothing: it is compiled beside everything else,
// where nothing would catch a panic.
func TestAShadowThatCannotBeCompiledEndsNothing(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		s, owner := New(e.DB, e.Log, nil, ProposalNotifier{}), newOwner(e)
		made, err := s.Create(t.Context(), owner, Source{
			Text: "version: v1\nname: p\nrules: []\n", Format: document.YAML,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.StartShadow(t.Context(), owner, made.ID, 1); err != nil {
			t.Fatal(err)
		}
		other := New(e.DB, e.Log, nil, ProposalNotifier{})
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
