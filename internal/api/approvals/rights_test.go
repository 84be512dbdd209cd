package approvals_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestWhoMayDoWhatWithApprovals calls everything as every role and kind of key.
// Each call is about a request of its own, of an agent whose owner is the owner.
func TestWhoMayDoWhatWithApprovals(t *testing.T) {
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
		second := b.Join(b.Owner, b.ID, "approver")
		settings := client.ApprovalSettings{PendingSeconds: 1800, GrantSeconds: 600}
		for name, action := range map[string]struct {
			may string
			do  func(c *client.Client) error
		}{
			"request": {
				"agent terminal",
				func(c *client.Client) error {
					_, err := c.RequestApproval(ctx, testserver.ApprovalRequest())
					return err
				},
			},
			"poll": {
				"agent",
				func(c *client.Client) error {
					_, err := c.PollApproval(ctx, b.OpenedApproval(b.Agent), 0)
					return err
				},
			},
			"check-approved": {"agent terminal", func(c *client.Client) error {
				return c.Call(ctx, http.MethodGet, "/delegation/check-approved", url.Values{"tool": {"x"}}, nil, nil)
			}},
			"mark-executed": {"agent", func(c *client.Client) error {
				_, err := c.MarkExecuted(ctx, b.Approved(b.Agent, second, b.ID, nil))
				return err
			}},
			"my-role": {
				"agent terminal",
				func(c *client.Client) error {
					return c.Call(ctx, http.MethodGet, "/delegation/my-role", nil, nil, nil)
				},
			},
			"cancel": {"agent owner", func(c *client.Client) error {
				_, err := c.CancelApproval(ctx, orgFor(c, b.ID), b.OpenedApproval(b.Agent))
				return err
			}},
			// The owner's own key asks, so somebody else must approve; stopping it the owner may.
			"approve": {"admin approver", func(c *client.Client) error {
				_, err := c.Approve(ctx, b.ID, client.Approval{ID: b.OpenedApproval(b.Agent)})
				return err
			}},
			"reject": {
				"owner admin approver",
				func(c *client.Client) error {
					_, err := c.Reject(ctx, b.ID, b.OpenedApproval(b.Agent), "")
					return err
				},
			},
			"list": {
				"owner admin approver member viewer",
				func(c *client.Client) error {
					_, err := c.ApprovalRequests(ctx, b.ID, client.ApprovalFilter{})
					return err
				},
			},
			"read": {
				"owner admin approver",
				func(c *client.Client) error {
					_, err := c.ApprovalRequest(ctx, b.ID, b.OpenedApproval(b.Agent))
					return err
				},
			},
			"preview": {"owner admin approver", func(c *client.Client) error {
				_, err := c.PreviewApproval(ctx, b.ID, client.Approval{ID: b.OpenedApproval(b.Agent)})
				return err
			}},
			"allows": {
				"owner admin approver member viewer",
				func(c *client.Client) error { _, err := c.StandingApprovals(ctx, b.ID); return err },
			},
			"revoke": {
				"owner admin approver",
				func(c *client.Client) error {
					return c.RevokeStandingApproval(ctx, b.ID, b.StandingApproval(b.Agent, second, b.ID))
				},
			},
			"settings": {
				"owner admin approver member viewer",
				func(c *client.Client) error { _, err := c.ApprovalSettings(ctx, b.ID); return err },
			},
			"set": {
				"owner admin",
				func(c *client.Client) error { _, err := c.SetApprovalSettings(ctx, b.ID, settings); return err },
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
				}
			}
		}
	})
}

// orgFor is the organization a person must name; a key has one.
func orgFor(c *client.Client, orgID string) string {
	if c.APIKey != "" {
		return ""
	}
	return orgID
}

// TestArgumentsAreForWhoReadsPayloads: the owner of a key who is a viewer by now
// sees that it asks, and not with what.
func TestArgumentsAreForWhoReadsPayloads(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, member := t.Context(), b.Join(b.Owner, b.ID, "member")
		agent := b.Public.WithKey(b.AgentKey(member, b.ID).APIKey)
		id := b.OpenedApproval(agent)
		if _, err := b.Owner.Approve(ctx, b.ID, client.Approval{
			ID: id, Arguments: []byte(`{"amount":1}`),
		}); err != nil {
			t.Fatal(err)
		}
		see := func(what string, wants bool) {
			t.Helper()
			one, err := member.ApprovalRequest(ctx, b.ID, id)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			list, err := member.ApprovalRequests(ctx, b.ID, client.ApprovalFilter{})
			if err != nil || len(list.Items) != 1 {
				t.Fatalf("%s: %+v, %v", what, list, err)
			}
			for _, a := range []client.ApprovalRequest{one.ApprovalRequest, list.Items[0]} {
				if shown := string(a.Arguments) != "null"; shown != wants || (len(a.EditedArguments) > 0) != wants {
					t.Errorf("%s sees %s and %s", what, a.Arguments, a.EditedArguments)
				}
				if (a.AskedFor != "") != wants || (a.Amount != nil) != wants || (len(a.Risk.Reasons) > 0) != wants {
					t.Errorf("%s sees %q, %v and %+v", what, a.AskedFor, a.Amount, a.Risk.Reasons)
				}
			}
		}
		see("a member", true)
		if _, err := b.Owner.ChangeRole(ctx, b.ID, member.ID, "viewer"); err != nil {
			t.Fatal(err)
		}
		see("a viewer", false)
	})
}
