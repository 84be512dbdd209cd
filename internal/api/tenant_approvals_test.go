package api_test

import (
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestForeignApprovals: what is named in a body is another's, and as unknown as
// what nobody has.
func TestForeignApprovals(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w, other := newTenant(s, "Secret Harbour"), newTenant(s, "Elsewhere")
		agent, stranger := s.Public.WithKey(w.agentSecret), s.Public.WithKey(other.agentSecret)
		pending, granted := s.OpenedApproval(agent), s.Approved(agent, w.owner, w.org, nil)
		before := s.Dump()
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
			testserver.WantStatus(t, name+" of what nobody has", unknown, http.StatusNotFound)
			for _, id := range []string{pending, granted} {
				err := call(id)
				testserver.WantStatus(t, name+" of another's", err, http.StatusNotFound)
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
		testserver.WantStatus(t, "the cursor of another", err, http.StatusBadRequest)
		if after := s.Dump(); len(after) != len(before) {
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
