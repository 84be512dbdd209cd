package api_test

import (
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/throttle"
)

// TestOpeningIsThrottled counts what is new, and never what is asked again.
func TestOpeningIsThrottled(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		b.nextMinute()
		asked := func(requester string) (client.ApprovalState, error) {
			q := question()
			q.RequesterEmail = requester
			return b.agent.RequestApproval(t.Context(), q)
		}
		known := question()
		known.RequesterEmail = "ada@customer.example"
		if _, err := b.agent.RequestApproval(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		for n := range throttle.OpenApproval.PerMinute - 1 {
			if _, err := asked("ada@customer.example"); err != nil {
				t.Fatalf("question %d: %v", n+2, err)
			}
		}
		_, err := asked("ada@customer.example")
		wantStatus(t, "one too many", err, http.StatusTooManyRequests)
		if d, err := b.agent.RequestApproval(t.Context(), known); err != nil || d.Status != "pending" {
			t.Errorf("asked again: %+v, %v", d, err)
		}
		if _, err := asked("bob@customer.example"); err != nil {
			t.Errorf("for another person: %v", err)
		}
		b.nextMinute()
		if _, err := asked("ada@customer.example"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

// TestAnsweringIsThrottled counts yeses and noes of a person together.
func TestAnsweringIsThrottled(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		approver, other := b.join(b.owner, b.org, "approver"), b.join(b.owner, b.org, "approver")
		b.nextMinute()
		answer := func(p *person, n int) error {
			id := database.NewID()
			if n%2 == 0 {
				return second(p.Approve(t.Context(), b.org, client.Approval{ID: id}))
			}
			return second(p.Reject(t.Context(), b.org, id, ""))
		}
		for n := range throttle.AnswerApproval.PerMinute {
			wantStatus(t, "an answer to nothing", answer(approver, n), http.StatusNotFound)
		}
		for n := range 2 {
			wantStatus(t, "one too many", answer(approver, n), http.StatusTooManyRequests)
			wantStatus(t, "another person", answer(other, n), http.StatusNotFound)
		}
		b.nextMinute()
		wantStatus(t, "a minute later", answer(approver, 0), http.StatusNotFound)
	})
}
