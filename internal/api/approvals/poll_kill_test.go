package approvals_test

import (
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestAPollEndsWithTheKill of its agent, with a request that is withdrawn, and not with an error: a client that is
// refused may run its tool.
func TestAPollEndsWithTheKill(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		issued := b.AgentKey(b.Owner, b.ID)
		agent := b.Public.WithKey(issued.APIKey)
		id := b.OpenedApproval(agent)
		type answer struct {
			client.ApprovalState
			err error
		}
		polled, began := make(chan answer, 1), time.Now()
		go func() {
			state, err := agent.PollApproval(t.Context(), id, 25)
			polled <- answer{state, err}
		}()
		if _, err := b.Owner.KillScope(t.Context(), b.ID, "key", issued.ID, "odd calls", false); err != nil {
			t.Fatal(err)
		}
		got := <-polled
		if got.err != nil || got.Status != "cancelled" || !got.Withdrawn {
			t.Errorf("the poll is answered %+v, %v", got.ApprovalState, got.err)
		}
		if waited := time.Since(began); waited >= 24*time.Second {
			t.Errorf("the poll ended after %s, with its time and not with the kill", waited)
		}
		shown, err := b.Owner.ApprovalRequest(t.Context(), b.ID, id)
		if err != nil || shown.Status != "cancelled" || !shown.Withdrawn {
			t.Errorf("the owner sees %+v, %v", shown, err)
		}
		pending, err := b.Owner.ApprovalRequests(t.Context(), b.ID, client.ApprovalFilter{Status: "pending"})
		if err != nil || len(pending.Items) != 0 {
			t.Errorf("pending: %+v, %v", pending.Items, err)
		}
	})
}
