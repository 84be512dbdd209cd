package api_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"writ/client"
)

// TestPollWakes: a poll that waits is answered by the answer, not by the clock.
func TestPollWakes(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		approver := b.join(b.owner, b.org, "approver")
		id := b.opened(b.agent)
		answers := b.polls(t.Context(), id, 4)
		if _, err := approver.Reject(t.Context(), b.org, id, "not today"); err != nil {
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
func (b *bank) polls(ctx context.Context, id string, n int) func() []client.ApprovalState {
	b.t.Helper()
	answers, errs := make([]client.ApprovalState, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { answers[i], errs[i] = b.agent.PollApproval(ctx, id, 25) })
	}
	return func() []client.ApprovalState {
		b.t.Helper()
		all.Wait()
		for _, err := range errs {
			if err != nil {
				b.t.Errorf("a poll: %v", err)
			}
		}
		return answers
	}
}

// TestManyPolls: those that may not wait are answered at once, and none is refused.
func TestManyPolls(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		approver := b.join(b.owner, b.org, "approver")
		id := b.opened(b.agent)
		answers := b.polls(t.Context(), id, 60) // of which 50 wait
		if _, err := approver.Approve(t.Context(), b.org, client.Approval{ID: id}); err != nil {
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
	eachBank(t, func(t *testing.T, b *bank) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second) // they would wait for 25
		defer cancel()
		answers := b.polls(ctx, b.opened(b.agent), 3)
		b.API.Stopping()
		for _, d := range answers() {
			if d.Status != "pending" {
				t.Errorf("a poll: %+v", d)
			}
		}
		// Nor does one that comes later wait.
		if d, err := b.agent.PollApproval(ctx, b.opened(b.agent), 25); err != nil || d.Status != "pending" {
			t.Errorf("afterwards: %+v, %v", d, err)
		}
	})
}

// TestAPollEndsWithItsKey: an answer that comes after the end of the key is not told.
func TestAPollEndsWithItsKey(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		approver, issued := b.join(b.owner, b.org, "approver"), b.agentKey(b.owner, b.org)
		agent := b.public.WithKey(issued.APIKey)
		id := b.opened(agent)
		polled := make(chan error)
		go func() {
			_, err := agent.PollApproval(t.Context(), id, 25)
			polled <- err
		}()
		if err := b.owner.RevokeKey(t.Context(), issued.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := approver.Reject(t.Context(), b.org, id, "not today"); err != nil {
			t.Fatal(err)
		}
		if err := <-polled; client.StatusOf(err) != http.StatusUnauthorized {
			t.Errorf("a poll with a revoked key: %v", err)
		}
	})
}
