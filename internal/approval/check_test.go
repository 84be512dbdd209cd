package approval_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

func (w *world) approve(by principal.Principal, id string, yes approval.Approval) approval.Request {
	w.t.Helper()
	r, err := w.approvals.Approve(w.t.Context(), by, id, yes)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) released(q approval.Question) *approval.Release {
	w.t.Helper()
	r, err := w.approvals.CheckApproved(w.t.Context(), w.key, q, w.releaser)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// TestCheckApproved says yes once, and only where nothing else can be meant.
func TestCheckApproved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		question := approval.Question{Tool: "pay", Amount: 5, Email: "U@example.org"}
		if got := w.released(question); got != nil {
			t.Errorf("nothing was asked: %+v", got)
		}
		first := w.held(approval.Call{Server: "bank", Tool: "pay"}, `{"n":1}`, hold)
		w.ask(approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{"n":1}`),
			Amount:    amount(5),
			Email:     "u@example.org",
		})
		if got := w.released(question); got != nil {
			t.Errorf("it waits: %+v", got)
		}
		second, _ := w.ask(approval.Asked{
			Tool:      "pay",
			Domain:    "bank",
			Arguments: []byte(`{"n":2}`),
			Amount:    amount(5),
			Email:     "u@example.org",
		})
		w.approve(bob, first.ID, approval.Approval{})
		if got := w.released(question); got != nil {
			t.Errorf("another request of that tool waits: %+v", got)
		}
		if _, err := w.approvals.Reject(t.Context(), bob, second.ID, ""); err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]approval.Question{
			"another amount": {Tool: "pay", Amount: 5.01, Email: "u@example.org"},
			"another tool":   {Tool: "move", Amount: 5, Email: "u@example.org"},
			"another person": {Tool: "pay", Amount: 5, Email: "v@example.org"},
			"nobody":         {Tool: "pay", Amount: 5},
			"no name":        {Tool: "pay\x00", Amount: 5, Email: "\xff"},
		} {
			if got := w.released(q); got != nil {
				t.Errorf("%s: %+v", name, got)
			}
		}
		got := w.released(question)
		if got == nil || got.Request.ID != first.ID || got.ApproverID != bob.UserID ||
			got.ApproverEmail != bob.UserID+"@example.org" || got.ApproverRole != "approver" || got.DecisionID == "" {
			t.Fatalf("released: %+v", got)
		}
		if again := w.released(question); again != nil {
			t.Errorf("released twice: %+v", again)
		}
		w.write(func(ctx context.Context, tx *database.Tx) error {
			if found, err := w.approvals.Find(ctx, tx, first.Call, hold); err != nil || found != nil {
				t.Errorf("a decision could use it as well: %+v, %v", found, err)
			}
			return nil
		})
		var decisions int
		if err := w.db.QueryRow(t.Context(),
			`SELECT COUNT(*) FROM audit_entry WHERE action = 'call.decided' AND verdict = 'allow'`).Scan(&decisions); err != nil || decisions != 1 {
			t.Errorf("%d decisions recorded, %v", decisions, err)
		}
	})
}

// TestCheckApprovedKeepsToItself: not what was changed or is wider, not for
// another key, and not without a record.
func TestCheckApprovedKeepsToItself(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		q := approval.Question{Tool: "pay", Amount: 5}
		asked := approval.Asked{Tool: "pay", Arguments: []byte(`{"n":1}`), Amount: amount(5)}
		changed, _ := w.ask(asked)
		w.approve(bob, changed.ID, approval.Approval{Arguments: []byte(`{"n":0}`)})
		if got := w.released(q); got != nil {
			t.Errorf("changed: %+v", got)
		}
		w.pass(approval.GrantLife)
		wide, _ := w.ask(asked)
		w.approve(bob, wide.ID, approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5}})
		if got := w.released(q); got != nil {
			t.Errorf("a wider yes: %+v", got)
		}
		plain, opened := w.ask(asked)
		if !opened {
			t.Fatal("a wider yes answers a question by itself")
		}
		w.approve(bob, plain.ID, approval.Approval{})
		stranger := w.key
		stranger.KeyID = database.NewID()
		if got, err := w.approvals.CheckApproved(t.Context(), stranger, q, w.releaser); err != nil || got != nil {
			t.Errorf("another key: %+v, %v", got, err)
		}
		elsewhere := w.key
		elsewhere.OrgID = database.NewID()
		if got, err := w.approvals.CheckApproved(t.Context(), elsewhere, q, w.releaser); err != nil || got != nil {
			t.Errorf("another organization: %+v, %v", got, err)
		}
		_, err := w.approvals.CheckApproved(t.Context(), w.ada, q, w.releaser)
		wantFault(t, "a person", err, fault.Forbidden)
		lacking := sources
		lacking.Address = nil
		if got, err := approval.New(w.db, w.log, lacking).CheckApproved(t.Context(), w.key, q, w.releaser); err == nil {
			t.Errorf("without an approver: %+v", got)
		}
		w.pass(approval.GrantLife)
		if got := w.released(q); got != nil {
			t.Errorf("its time is over: %+v", got)
		}
	})
}

// TestReleasedOnce, however many ask at once.
func TestReleasedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		for range 20 {
			r, _ := w.ask(approval.Asked{Tool: "pay", Amount: amount(7)})
			w.approve(bob, r.ID, approval.Approval{})
			var yeses atomic.Int64
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					got, err := w.approvals.CheckApproved(t.Context(), w.key, approval.Question{
						Tool: "pay", Amount: 7,
					}, w.releaser)
					if err != nil {
						t.Error(err)
					}
					if got != nil {
						yeses.Add(1)
					}
				})
			}
			if all.Wait(); yeses.Load() != 1 {
				t.Fatalf("released %d times", yeses.Load())
			}
		}
	})
}

func TestMarkExecuted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		r := w.held(approval.Call{Server: "bank", Tool: "pay"}, `{"n":1}`, hold)
		mark := func(p principal.Principal, id string) error {
			_, err := w.approvals.MarkExecuted(t.Context(), p, id)
			return err
		}
		wantFault(t, "it waits", mark(w.key, r.ID), fault.Invalid)
		w.approve(bob, r.ID, approval.Approval{})
		stranger := w.key
		stranger.KeyID = database.NewID()
		wantFault(t, "another key", mark(stranger, r.ID), fault.NotFound)
		wantFault(t, "a person", mark(bob, r.ID), fault.Forbidden)
		for _, id := range []string{"", "x", database.NewID()} {
			wantFault(t, "no request", mark(w.key, id), fault.NotFound)
		}
		var first approval.Request
		for i := range 3 {
			got, err := w.approvals.MarkExecuted(t.Context(), w.key, r.ID)
			if i == 0 {
				first = got
			}
			if err != nil || got.ExecutedAt == nil || !got.ExecutedAt.Equal(*first.ExecutedAt) || !got.Used() {
				t.Errorf("marked: %+v, %v", got, err)
			}
			w.pass(1000)
		}
		w.write(func(ctx context.Context, tx *database.Tx) error {
			if found, err := w.approvals.Find(ctx, tx, r.Call, hold); err != nil || found != nil {
				t.Errorf("executed, and still granted: %+v, %v", found, err)
			}
			return nil
		})
		var entries int
		if err := w.db.QueryRow(t.Context(),
			`SELECT COUNT(*) FROM audit_entry WHERE action = 'approval.executed'`).Scan(&entries); err != nil ||
			entries != 1 {
			t.Errorf("%d entries, %v", entries, err)
		}
	})
}

// TestNoDenyIsLiftedWithoutArguments: not where policies deny the tool, and not
// where they may do so by now.
func TestNoDenyIsLiftedWithoutArguments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		for _, tool := range []string{"denied", "pay"} {
			r, _ := w.ask(approval.Asked{Tool: tool, Amount: amount(7)})
			w.approve(bob, r.ID, approval.Approval{})
		}
		if got := w.released(approval.Question{Tool: "denied", Amount: 7}); got != nil {
			t.Errorf("a denied tool: %+v", got)
		}
		overtaken := w.releaser
		overtaken.meanwhile = func() {
			if _, err := w.approvals.SetSettings(t.Context(), w.ada, approval.DefaultSettings()); err != nil {
				t.Error(err)
			}
		}
		q := approval.Question{Tool: "pay", Amount: 7}
		if got, err := w.approvals.CheckApproved(t.Context(), w.key, q, overtaken); err != nil || got != nil {
			t.Errorf("overtaken: %+v, %v", got, err)
		}
		if got := w.released(q); got == nil {
			t.Error("the next question is not answered")
		}
	})
}

// TestCheckApprovedKeepsToTheServer that the question names.
func TestCheckApprovedKeepsToTheServer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		r, _ := w.ask(approval.Asked{Tool: "delete", Domain: "drafts", Amount: amount(0)})
		w.approve(w.person(principal.Approver), r.ID, approval.Approval{})
		for _, tool := range []string{"files__delete", "mcp__files__delete"} {
			if got := w.released(approval.Question{Tool: tool}); got != nil {
				t.Errorf("%s by a yes to %s.%s", tool, got.Request.Server, got.Request.Tool)
			}
		}
		if w.released(approval.Question{Tool: "mcp__drafts__delete"}) == nil {
			t.Error("the server that was approved")
		}
	})
}
