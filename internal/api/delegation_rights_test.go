package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database"
)

// TestWhoMayDoWhatWithApprovals calls everything as every role and kind of key.
// Each call is about a request of its own, of an agent whose owner is the owner.
func TestWhoMayDoWhatWithApprovals(t *testing.T) {
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
		second := b.join(b.owner, b.org, "approver")
		settings := client.ApprovalSettings{PendingSeconds: 1800, GrantSeconds: 600}
		for name, action := range map[string]struct {
			may string
			do  func(c *client.Client) error
		}{
			"request": {
				"agent terminal",
				func(c *client.Client) error { _, err := c.RequestApproval(ctx, question()); return err },
			},
			"poll": {
				"agent",
				func(c *client.Client) error { _, err := c.PollApproval(ctx, b.opened(b.agent), 0); return err },
			},
			"check-approved": {"agent terminal", func(c *client.Client) error {
				return c.Call(ctx, http.MethodGet, "/delegation/check-approved", url.Values{"tool": {"x"}}, nil, nil)
			}},
			"mark-executed": {"agent", func(c *client.Client) error {
				_, err := c.MarkExecuted(ctx, b.approved(b.agent, second, b.org, nil))
				return err
			}},
			"my-role": {
				"agent terminal",
				func(c *client.Client) error {
					return c.Call(ctx, http.MethodGet, "/delegation/my-role", nil, nil, nil)
				},
			},
			"cancel": {"agent owner", func(c *client.Client) error {
				_, err := c.CancelApproval(ctx, orgFor(c, b.org), b.opened(b.agent))
				return err
			}},
			// The owner's own key asks, so somebody else must approve; stopping it the owner may.
			"approve": {"admin approver", func(c *client.Client) error {
				_, err := c.Approve(ctx, b.org, client.Approval{ID: b.opened(b.agent)})
				return err
			}},
			"reject": {
				"owner admin approver",
				func(c *client.Client) error { _, err := c.Reject(ctx, b.org, b.opened(b.agent), ""); return err },
			},
			"list": {
				"owner admin approver member viewer",
				func(c *client.Client) error {
					_, err := c.ApprovalRequests(ctx, b.org, client.ApprovalFilter{})
					return err
				},
			},
			"read": {
				"owner admin approver",
				func(c *client.Client) error { _, err := c.ApprovalRequest(ctx, b.org, b.opened(b.agent)); return err },
			},
			"preview": {"owner admin approver", func(c *client.Client) error {
				_, err := c.PreviewApproval(ctx, b.org, client.Approval{ID: b.opened(b.agent)})
				return err
			}},
			"allows": {
				"owner admin approver member viewer",
				func(c *client.Client) error { _, err := c.StandingApprovals(ctx, b.org); return err },
			},
			"revoke": {
				"owner admin approver",
				func(c *client.Client) error {
					return c.RevokeStandingApproval(ctx, b.org, b.allowed(b.agent, second, b.org))
				},
			},
			"settings": {
				"owner admin approver member viewer",
				func(c *client.Client) error { _, err := c.ApprovalSettings(ctx, b.org); return err },
			},
			"set": {
				"owner admin",
				func(c *client.Client) error { _, err := c.SetApprovalSettings(ctx, b.org, settings); return err },
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

// TestForeignApprovals: what is named in a body is another's, and as unknown as
// what nobody has.
func TestForeignApprovals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		w, other := s.tenant("Secret Harbour"), s.tenant("Elsewhere")
		agent, stranger := s.public.WithKey(w.agentSecret), s.public.WithKey(other.agentSecret)
		pending, granted := s.opened(agent), s.approved(agent, w.owner, w.org, nil)
		before := s.dump()
		for name, call := range map[string]func(id string) error{
			"approve": func(id string) error {
				_, err := other.owner.Approve(t.Context(), other.org, client.Approval{ID: id})
				return err
			},
			"reject": func(id string) error {
				_, err := other.owner.Reject(t.Context(), other.org, id, "")
				return err
			},
			"preview": func(id string) error {
				_, err := other.owner.PreviewApproval(t.Context(), other.org, client.Approval{ID: id})
				return err
			},
			"read": func(id string) error {
				_, err := other.owner.ApprovalRequest(t.Context(), other.org, id)
				return err
			},
			"cancel": func(id string) error {
				_, err := stranger.CancelApproval(t.Context(), "", id)
				return err
			},
			"poll":          func(id string) error { _, err := stranger.PollApproval(t.Context(), id, 0); return err },
			"mark-executed": func(id string) error { _, err := stranger.MarkExecuted(t.Context(), id); return err },
		} {
			unknown := call(database.NewID())
			wantStatus(t, name+" of what nobody has", unknown, http.StatusNotFound)
			for _, id := range []string{pending, granted} {
				err := call(id)
				wantStatus(t, name+" of another's", err, http.StatusNotFound)
				if wordsOf(err) != wordsOf(unknown) {
					t.Errorf("%s: another's can be told from nobody's: %v, %v", name, err, unknown)
				}
			}
		}
		list, err := other.owner.ApprovalRequests(t.Context(), other.org, client.ApprovalFilter{})
		for _, a := range list.Items {
			if a.OrganizationID != other.org {
				t.Errorf("the list shows another's: %+v", a)
			}
		}
		if err != nil || len(list.Items) == 0 {
			t.Errorf("the list: %+v, %v", list, err)
		}
		// The cursor of one organization is none in another.
		first, err := w.owner.ApprovalRequests(t.Context(), w.org, client.ApprovalFilter{List: client.List{Limit: 1}})
		if err != nil || !first.HasMore {
			t.Fatalf("a first page: %+v, %v", first, err)
		}
		_, err = other.owner.ApprovalRequests(t.Context(), other.org, client.ApprovalFilter{
			List: client.List{Cursor: first.NextCursor},
		})
		wantStatus(t, "the cursor of another", err, http.StatusBadRequest)
		if after := s.dump(); len(after) != len(before) {
			t.Errorf("strangers changed something: %d rows, %d before", len(after), len(before))
		}
	})
}

func wordsOf(err error) string {
	e, ok := err.(*client.Error)
	if !ok {
		return ""
	}
	return e.Message
}

// TestArgumentsAreForWhoReadsPayloads: the owner of a key who is a viewer by now
// sees that it asks, and not with what.
func TestArgumentsAreForWhoReadsPayloads(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		ctx, member := t.Context(), b.join(b.owner, b.org, "member")
		agent := b.public.WithKey(b.agentKey(member, b.org).APIKey)
		id := b.opened(agent)
		if _, err := b.owner.Approve(ctx, b.org, client.Approval{
			ID: id, Arguments: []byte(`{"amount":1}`),
		}); err != nil {
			t.Fatal(err)
		}
		see := func(what string, wants bool) {
			t.Helper()
			one, err := member.ApprovalRequest(ctx, b.org, id)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			list, err := member.ApprovalRequests(ctx, b.org, client.ApprovalFilter{})
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
		if _, err := b.owner.ChangeRole(ctx, b.org, member.ID, "viewer"); err != nil {
			t.Fatal(err)
		}
		see("a viewer", false)
	})
}
