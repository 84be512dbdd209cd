package approvals_test

import (
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// TestOpeningIsThrottled counts what is new, and never what is asked again.
func TestOpeningIsThrottled(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		b.NextMinute()
		asked := func(requester string) (client.ApprovalState, error) {
			q := testserver.ApprovalRequest()
			q.RequesterEmail = requester
			return b.Agent.RequestApproval(t.Context(), q)
		}
		known := testserver.ApprovalRequest()
		known.RequesterEmail = "ada@customer.example"
		if _, err := b.Agent.RequestApproval(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		for n := range throttle.OpenApproval.PerMinute - 1 {
			if _, err := asked("ada@customer.example"); err != nil {
				t.Fatalf("question %d: %v", n+2, err)
			}
		}
		_, err := asked("ada@customer.example")
		testserver.WantStatus(t, "one too many", err, http.StatusTooManyRequests)
		if d, err := b.Agent.RequestApproval(t.Context(), known); err != nil || d.Status != "pending" {
			t.Errorf("asked again: %+v, %v", d, err)
		}
		if _, err := asked("bob@customer.example"); err != nil {
			t.Errorf("for another person: %v", err)
		}
		b.NextMinute()
		if _, err := asked("ada@customer.example"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

// TestAnsweringIsThrottled counts yeses and noes of a person together.
func TestAnsweringIsThrottled(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		approver, other := b.Join(b.Owner, b.ID, "approver"), b.Join(b.Owner, b.ID, "approver")
		b.NextMinute()
		answer := func(p *testserver.Person, n int) error {
			id := database.NewID()
			if n%2 == 0 {
				return second(p.Approve(t.Context(), b.ID, client.Approval{ID: id}))
			}
			return second(p.Reject(t.Context(), b.ID, id, ""))
		}
		for n := range throttle.AnswerApproval.PerMinute {
			testserver.WantStatus(t, "an answer to nothing", answer(approver, n), http.StatusNotFound)
		}
		for n := range 2 {
			testserver.WantStatus(t, "one too many", answer(approver, n), http.StatusTooManyRequests)
			testserver.WantStatus(t, "another person", answer(other, n), http.StatusNotFound)
		}
		b.NextMinute()
		testserver.WantStatus(t, "a minute later", answer(approver, 0), http.StatusNotFound)
	})
}
