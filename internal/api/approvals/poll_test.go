package approvals_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestPollWakes: a poll that waits is answered by the answer, not by the clock.
func TestPollWakes(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		approver := b.Join(b.Owner, b.ID, "approver")
		id := b.OpenedApproval(b.Agent)
		answers := polls(b, t.Context(), id, 4)
		if _, err := approver.Reject(t.Context(), b.ID, id, "not today"); err != nil {
			t.Fatal(err)
		}
		for _, d := range answers() {
			if d.Status != "rejected" || d.Note != "not today" {
				t.Errorf("a poll: %+v", d)
			}
		}
	})
}

// polls begins so many polls, and gives what all of them are answered.
func polls(b *testserver.Org, ctx context.Context, id string, n int) func() []client.ApprovalState {
	b.T.Helper()
	answers, errs := make([]client.ApprovalState, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { answers[i], errs[i] = b.Agent.PollApproval(ctx, id, 25) })
	}
	return func() []client.ApprovalState {
		b.T.Helper()
		all.Wait()
		for _, err := range errs {
			if err != nil {
				b.T.Errorf("a poll: %v", err)
			}
		}
		return answers
	}
}

// TestManyPolls: those that may not wait are answered at once, and none is refused.
func TestManyPolls(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		approver := b.Join(b.Owner, b.ID, "approver")
		id := b.OpenedApproval(b.Agent)
		answers := polls(b, t.Context(), id, 60) // of which 50 wait
		if _, err := approver.Approve(t.Context(), b.ID, client.Approval{ID: id}); err != nil {
			t.Fatal(err)
		}
		for _, d := range answers() {
			if d.ID != id || d.Status != "pending" && d.Status != "approved" {
				t.Errorf("a poll: %+v", d)
			}
		}
	})
}

// TestPollsEndWithTheServer: who polls does not keep it from stopping.
func TestPollsEndWithTheServer(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Second) // they would wait for 25
		defer cancel()
		answers := polls(b, ctx, b.OpenedApproval(b.Agent), 3)
		b.API.Stopping()
		for _, d := range answers() {
			if d.Status != "pending" {
				t.Errorf("a poll: %+v", d)
			}
		}
		// Nor does one that comes later wait.
		if d, err := b.Agent.PollApproval(ctx, b.OpenedApproval(b.Agent), 25); err != nil || d.Status != "pending" {
			t.Errorf("afterwards: %+v, %v", d, err)
		}
	})
}

// TestAPollEndsWithItsKey: an answer that comes after the end of the key is not told, and cannot be a yes.
func TestAPollEndsWithItsKey(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		approver, issued := b.Join(b.Owner, b.ID, "approver"), b.AgentKey(b.Owner, b.ID)
		agent := b.Public.WithKey(issued.APIKey)
		id := b.OpenedApproval(agent)
		polled := make(chan error)
		go func() {
			_, err := agent.PollApproval(t.Context(), id, 25)
			polled <- err
		}()
		if err := b.Owner.RevokeKey(t.Context(), issued.ID); err != nil {
			t.Fatal(err)
		}
		_, err := approver.Approve(t.Context(), b.ID, client.Approval{ID: id})
		testserver.WantStatus(t, "a yes that no call could use", err, http.StatusConflict)
		if _, err := approver.Reject(t.Context(), b.ID, id, "not today"); err != nil {
			t.Fatal(err)
		}
		if err := <-polled; client.StatusOf(err) != http.StatusUnauthorized {
			t.Errorf("a poll with a revoked key: %v", err)
		}
	})
}
