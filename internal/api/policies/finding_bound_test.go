package policies_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/testserver"
)

// TestFindingsAreOfCallsThatThePolicyCountsFor: a condition that fails for the calls
// of others is not at fault, and one that failed for all of one's own is, whatever
// others did.
func TestFindingsAreOfCallsThatThePolicyCountsFor(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx := t.Context()
		member := b.Join(b.Owner, b.ID, "member")
		mine, theirs := b.AgentKey(b.Owner, b.ID).APIKey, b.AgentKey(member, b.ID).APIKey
		b.ActivePolicy(b.Owner, b.ID, testserver.WorkPolicy)
		for range 3 {
			b.Asked(mine, "reader", "files", "read", m{"path": "src/a.go"})
			b.Asked(theirs, "writer", "files", "read", m{"file": "src/b.go"})
		}
		made, err := b.Owner.CreatePolicy(ctx, b.ID, client.YAMLDocument, `version: v1
name: bound
default: deny
rules:
  - {id: etc, effect: hold, tools: [files.read], when: args.file.startsWith("/etc")}
`)
		if err != nil {
			t.Fatal(err)
		}
		const fails = "always_fails etc 5:56 3"
		for _, c := range []struct {
			name  string
			to    client.Bindings
			calls int64
			want  []string
		}{
			{"everybody", client.Bindings{}, 6, nil},
			{"the agent for which it fails", client.Bindings{Clients: []string{"reader"}}, 3, []string{fails}},
			{"the agent for which it does not", client.Bindings{Clients: []string{"writer"}}, 3, nil},
			{"the owner of its key", client.Bindings{Members: []string{b.Owner.ID}}, 3, []string{fails}},
			{"the role of the other's owner", client.Bindings{Roles: []string{"member"}}, 3, nil},
			{"both agents", client.Bindings{Clients: []string{"reader", "writer"}}, 6, nil},
			{"nobody who called", client.Bindings{Clients: []string{"stranger"}}, 0, nil},
		} {
			bind := func() error { return second(b.Owner.SetBindings(ctx, made.ID, c.to)) }
			if c.name == "everybody" {
				bind = func() error { return second(b.Owner.BindEverybody(ctx, made.ID)) }
			}
			if err := bind(); err != nil {
				t.Fatal(err)
			}
			found, err := b.Owner.PolicyFindings(ctx, made.ID, 0, 1)
			if diff := cmp.Diff(c.want, kinds(found)); err != nil || diff != "" || found.Calls != c.calls ||
				found.Incomplete {
				t.Errorf("%s: %d calls, %v, want %d\n%s", c.name, found.Calls, err, c.calls, diff)
			}
		}
	})
}
