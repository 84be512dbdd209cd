package api_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database"
)

// TestWhoMayDoWhatWithPolicies calls everything as every role and kind of key.
func TestWhoMayDoWhatWithPolicies(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		ctx := t.Context()
		callers := map[string]*client.Client{
			"owner": b.owner.Client, "agent": b.agent, "drafter": b.public.WithKey(b.draftKey(b.owner, b.org).APIKey),
			"terminal": b.terminalKey(b.owner, b.org), "unbound": b.unboundKey(b.owner),
		}
		for _, role := range []string{"admin", "approver", "member", "viewer"} {
			callers[role] = b.join(b.owner, b.org, role).Client
		}
		id, unbound, shadowed := b.draft(b.owner, b.org, "pay"), b.draft(b.owner, b.org, "unbound"),
			b.draft(b.owner, b.org, "shadowed")
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
				return second(c.Policies(ctx, client.PolicyFilter{OrganizationID: b.org}, client.List{}))
			}},
			"read": {reads, func(c *client.Client) error { return second(c.Policy(ctx, id)) }},
			"versions": {
				reads, func(c *client.Client) error { return second(c.PolicyVersions(ctx, id, client.List{})) },
			},
			"diff":   {reads, func(c *client.Client) error { return second(c.DiffPolicy(ctx, id, 1, 1)) }},
			"export": {reads, func(c *client.Client) error { return second(c.ExportPolicy(ctx, id, 0)) }},
			"create": {drafts, func(c *client.Client) error {
				return second(c.CreatePolicy(ctx, b.org, client.YAMLDocument, policyText(database.NewID(), "deny")))
			}},
			"update": {drafts, func(c *client.Client) error {
				return second(c.UpdatePolicy(ctx, id, client.YAMLDocument, policyText("pay", "deny"), 0))
			}},
			"import": {drafts, func(c *client.Client) error {
				return second(c.ImportPolicy(ctx, b.org, client.YAMLDocument, policyText(database.NewID(), "deny")))
			}},
			"draft": {"owner admin approver member", func(c *client.Client) error {
				return second(c.DraftPolicy(ctx, b.org, client.DraftRequest{
					Description: "pay people", Name: database.NewID(),
				}))
			}},
			"validate": {drafts, func(c *client.Client) error {
				return second(c.ValidatePolicy(ctx, b.org, client.YAMLDocument, paymentsYAML))
			}},
			"simulate": {drafts, func(c *client.Client) error {
				return second(c.SimulatePolicy(ctx, b.org, client.Simulation{PolicyID: id, Call: call}))
			}},
			"check": {
				"owner admin approver member viewer agent terminal",
				func(c *client.Client) error { return second(c.CheckAccess(ctx, b.org, call)) },
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
				func(c *client.Client) error { return c.DeletePolicy(ctx, b.draft(b.owner, b.org, database.NewID())) },
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

// unboundKey has every scope, and no organization.
func (s *server) unboundKey(p *person) *client.Client {
	s.t.Helper()
	key, err := p.CreateKey(s.t.Context(), client.NewKey{Name: "unbound", Scopes: []string{"enforce", "policy.draft"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.public.WithKey(key.APIKey)
}

// TestKeysOutliveTheirOwners: a key that asks for decisions is the organization's.
func TestKeysOutliveTheirOwners(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		b.activePolicy(b.owner, b.org, policyText("open", "allow"))
		leaver := b.join(b.owner, b.org, "admin")
		key := b.public.WithKey(b.agentKey(leaver, b.org).APIKey)
		if err := b.owner.RemoveMember(t.Context(), b.org, leaver.ID); err != nil {
			t.Fatal(err)
		}
		if got := b.check(key, client.ToolCall{Server: "bank", Tool: "t"}); !got.Allowed {
			t.Errorf("the key of who left: %+v", got)
		}
		_, err := leaver.CheckAccess(t.Context(), b.org, client.ToolCall{Server: "bank", Tool: "t"})
		wantStatus(t, "who left", err, http.StatusForbidden)
	})
}

// TestWhatBindsALeaverGoesOn: leaving must not lift a deny from the keys that stay.
func TestWhatBindsALeaverGoesOn(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		b.activePolicy(b.owner, b.org, policyText("open", "allow"))
		leaver := b.join(b.owner, b.org, "member")
		key := b.public.WithKey(b.agentKey(leaver, b.org).APIKey)
		id := b.draft(b.owner, b.org, "closed")
		if _, err := b.owner.SetBindings(t.Context(), id, client.Bindings{Members: []string{leaver.ID}}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.owner.ActivatePolicy(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"before", "after"} {
			if got := b.check(key, client.ToolCall{Server: "bank", Tool: "t"}); got.Allowed {
				t.Errorf("%s its owner left: %+v, want what binds the owner to deny", when, got)
			}
			if when == "before" {
				if err := b.owner.RemoveMember(t.Context(), b.org, leaver.ID); err != nil {
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
	eachBank(t, func(t *testing.T, b *bank) {
		ctx := t.Context()
		id := b.draft(b.owner, b.org, "pay")
		member := b.join(b.owner, b.org, "member")
		key := b.public.WithKey(b.draftKey(member, b.org).APIKey)
		write := func() error {
			return second(key.UpdatePolicy(ctx, id, client.YAMLDocument, policyText("pay", "allow"), 0))
		}
		read := func() error { return second(key.Policy(ctx, id)) }
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.owner.ChangeRole(ctx, b.org, member.ID, "viewer"); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "a viewer's key drafts", write(), http.StatusForbidden)
		if err := read(); err != nil {
			t.Errorf("a viewer's key reads: %v", err)
		}
		if err := b.owner.RemoveMember(ctx, b.org, member.ID); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "the key of who left drafts", write(), http.StatusForbidden)
		wantStatus(t, "the key of who left reads", read(), http.StatusForbidden)
	})
}
