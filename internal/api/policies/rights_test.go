package policies_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestWhoMayDoWhatWithPolicies calls everything as every role and kind of key.
func TestWhoMayDoWhatWithPolicies(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx := t.Context()
		callers := map[string]*client.Client{
			"owner": b.Owner.Client, "agent": b.Agent, "drafter": b.Public.WithKey(b.DraftKey(b.Owner, b.ID).APIKey),
			"terminal": b.TerminalKey(b.Owner, b.ID), "unbound": b.UnboundKey(b.Owner),
		}
		for _, role := range []string{"admin", "approver", "member", "viewer"} {
			callers[role] = b.Join(b.Owner, b.ID, role).Client
		}
		id, unbound, shadowed := b.Draft(b.Owner, b.ID, "pay"), b.Draft(b.Owner, b.ID, "unbound"),
			b.Draft(b.Owner, b.ID, "shadowed")
		const (
			reads   = "owner admin approver member viewer drafter"
			drafts  = "owner admin approver member drafter"
			manages = "owner admin"
		)
		call := client.ToolCall{Server: "bank", Tool: "t"}
		for name, action := range map[string]struct {
			may string
			do  func(c *client.Client) error
		}{
			"list": {reads, func(c *client.Client) error {
				return second(c.Policies(ctx, client.PolicyFilter{OrganizationID: b.ID}, client.List{}))
			}},
			"read": {reads, func(c *client.Client) error { return second(c.Policy(ctx, id)) }},
			"versions": {
				reads, func(c *client.Client) error { return second(c.PolicyVersions(ctx, id, client.List{})) },
			},
			"diff":   {reads, func(c *client.Client) error { return second(c.DiffPolicy(ctx, id, 1, 1)) }},
			"export": {reads, func(c *client.Client) error { return second(c.ExportPolicy(ctx, id, 0)) }},
			"create": {drafts, func(c *client.Client) error {
				return second(c.CreatePolicy(ctx, b.ID, client.YAMLDocument,
					testserver.PolicyText(database.NewID(), "deny")))
			}},
			"update": {drafts, func(c *client.Client) error {
				return second(c.UpdatePolicy(ctx, id, client.YAMLDocument, testserver.PolicyText("pay", "deny"), 0))
			}},
			"import": {drafts, func(c *client.Client) error {
				return second(c.ImportPolicy(ctx, b.ID, client.YAMLDocument,
					testserver.PolicyText(database.NewID(), "deny")))
			}},
			"draft": {"owner admin approver member", func(c *client.Client) error {
				return second(c.DraftPolicy(ctx, b.ID, client.DraftRequest{
					Description: "pay people", Name: database.NewID(),
				}))
			}},
			"validate": {drafts, func(c *client.Client) error {
				return second(c.ValidatePolicy(ctx, b.ID, client.YAMLDocument, paymentsYAML))
			}},
			"simulate": {drafts, func(c *client.Client) error {
				return second(c.SimulatePolicy(ctx, b.ID, client.Simulation{PolicyID: id, Call: call}))
			}},
			"check": {
				"owner admin approver member viewer agent terminal",
				func(c *client.Client) error { return second(c.CheckAccess(ctx, b.ID, call)) },
			},
			"bindings": {
				"owner admin approver member viewer",
				func(c *client.Client) error { return second(c.Bindings(ctx, id)) },
			},
			"activate":   {manages, func(c *client.Client) error { return second(c.ActivatePolicy(ctx, id, 1)) }},
			"deactivate": {manages, func(c *client.Client) error { return second(c.DeactivatePolicy(ctx, id)) }},
			"shadow":     {manages, func(c *client.Client) error { return second(c.StartShadow(ctx, shadowed, 0)) }},
			"end shadow": {manages, func(c *client.Client) error { return second(c.EndShadow(ctx, shadowed)) }},
			"rollback":   {manages, func(c *client.Client) error { return second(c.RollbackPolicy(ctx, id, 1)) }},
			"set bindings": {manages, func(c *client.Client) error {
				return second(c.SetBindings(ctx, id, client.Bindings{Roles: []string{"owner", "admin"}}))
			}},
			"bind": {manages, func(c *client.Client) error {
				return second(c.Bind(ctx, unbound, client.Bindings{Roles: []string{"viewer"}}))
			}},
			"delete": {
				manages,
				func(c *client.Client) error { return c.DeletePolicy(ctx, b.Draft(b.Owner, b.ID, database.NewID())) },
			},
		} {
			for who, caller := range callers {
				err := action.do(caller)
				may := strings.Contains(" "+action.may+" ", " "+who+" ")
				status := client.StatusOf(err)
				switch {
				case may && err != nil:
					t.Errorf("%s by %s: %v, want leave", name, who, err)
				case !may && status != http.StatusForbidden && status != http.StatusUnauthorized &&
					status != http.StatusNotFound:
					t.Errorf("%s by %s: %v, want a refusal", name, who, err)
				case !may && status == http.StatusNotFound && who != "unbound":
					t.Errorf("%s by %s: %v, want 401 or 403", name, who, err)
				}
			}
		}
	})
}

// TestKeysOutliveTheirOwners: a key that asks for decisions is the organization's.
func TestKeysOutliveTheirOwners(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		b.ActivePolicy(b.Owner, b.ID, testserver.PolicyText("open", "allow"))
		leaver := b.Join(b.Owner, b.ID, "admin")
		key := b.Public.WithKey(b.AgentKey(leaver, b.ID).APIKey)
		if err := b.Owner.RemoveMember(t.Context(), b.ID, leaver.ID); err != nil {
			t.Fatal(err)
		}
		if got := check(b, key, client.ToolCall{Server: "bank", Tool: "t"}); !got.Allowed {
			t.Errorf("the key of who left: %+v", got)
		}
		_, err := leaver.CheckAccess(t.Context(), b.ID, client.ToolCall{Server: "bank", Tool: "t"})
		testserver.WantStatus(t, "who left", err, http.StatusForbidden)
	})
}

// TestWhatBindsALeaverGoesOn: leaving must not lift a deny from the keys that stay.
func TestWhatBindsALeaverGoesOn(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		b.ActivePolicy(b.Owner, b.ID, testserver.PolicyText("open", "allow"))
		leaver := b.Join(b.Owner, b.ID, "member")
		key := b.Public.WithKey(b.AgentKey(leaver, b.ID).APIKey)
		id := b.Draft(b.Owner, b.ID, "closed")
		if _, err := b.Owner.SetBindings(t.Context(), id, client.Bindings{Members: []string{leaver.ID}}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Owner.ActivatePolicy(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"before", "after"} {
			if got := check(b, key, client.ToolCall{Server: "bank", Tool: "t"}); got.Allowed {
				t.Errorf("%s its owner left: %+v, want what binds the owner to deny", when, got)
			}
			if when == "before" {
				if err := b.Owner.RemoveMember(t.Context(), b.ID, leaver.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestDraftKeysDoNoMoreThanTheirOwners: a scope that was given to a member does
// not outlast what the member may.
func TestDraftKeysDoNoMoreThanTheirOwners(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx := t.Context()
		id := b.Draft(b.Owner, b.ID, "pay")
		member := b.Join(b.Owner, b.ID, "member")
		key := b.Public.WithKey(b.DraftKey(member, b.ID).APIKey)
		write := func() error {
			return second(key.UpdatePolicy(ctx, id, client.YAMLDocument, testserver.PolicyText("pay", "allow"), 0))
		}
		read := func() error { return second(key.Policy(ctx, id)) }
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Owner.ChangeRole(ctx, b.ID, member.ID, "viewer"); err != nil {
			t.Fatal(err)
		}
		testserver.WantStatus(t, "a viewer's key drafts", write(), http.StatusForbidden)
		if err := read(); err != nil {
			t.Errorf("a viewer's key reads: %v", err)
		}
		if err := b.Owner.RemoveMember(ctx, b.ID, member.ID); err != nil {
			t.Fatal(err)
		}
		testserver.WantStatus(t, "the key of who left drafts", write(), http.StatusForbidden)
		testserver.WantStatus(t, "the key of who left reads", read(), http.StatusForbidden)
	})
}
