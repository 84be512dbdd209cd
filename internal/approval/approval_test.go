package approval_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/testenv"
)

var hold = approval.Requirement{Kind: approval.Hold, PolicyID: "p", Rule: "r", Reason: "because"}

func TestWhoMayApprove(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx, bob, mel := t.Context(), e.person(principal.Approver), e.person(principal.Member)
		elsewhere := bob
		elsewhere.OrgID = database.NewID()
		r := e.open(hold)
		for name, c := range map[string]struct {
			by   principal.Principal
			kind fault.Kind
		}{
			"the key itself":     {e.key, fault.Forbidden},
			"its owner":          {e.ada, fault.Forbidden},
			"a member":           {mel, fault.Forbidden},
			"somebody elsewhere": {elsewhere, fault.NotFound},
			"the operator":       {principal.Operator(), fault.Forbidden},
			"without organization": {
				principal.Principal{Kind: principal.User, UserID: bob.UserID, Role: principal.Owner}, fault.Forbidden,
			},
		} {
			_, err := e.approvals.Approve(ctx, c.by, r.ID, approval.Approval{})
			testenv.WantFault(t, name, err, c.kind)
		}
		for _, id := range []string{"", "x", database.NewID()} {
			_, err := e.approvals.Approve(ctx, bob, id, approval.Approval{})
			testenv.WantFault(t, "no request", err, fault.NotFound)
		}
		_, err := e.approvals.Approve(ctx, bob, r.ID, approval.Approval{Note: "\x00"})
		testenv.WantFault(t, "a bad note", err, fault.Invalid)
		got, err := e.approvals.Approve(ctx, bob, r.ID, approval.Approval{Note: "fine"})
		if err != nil || got.Status != approval.Approved || got.SelfApproved || got.Note != "fine" ||
			got.DecidedAt == nil {
			t.Errorf("approved: %+v, %v", got, err)
		}
		for name, again := range map[string]func() error{
			"approved again": func() error {
				_, err := e.approvals.Approve(ctx, bob, r.ID, approval.Approval{})
				return err
			},
			"rejected after": func() error { _, err := e.approvals.Reject(ctx, bob, r.ID, ""); return err },
			"cancelled":      func() error { _, err := e.approvals.Cancel(ctx, e.key, r.ID); return err },
		} {
			testenv.WantFault(t, name, again(), fault.Conflict)
		}
	})
}

func TestAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.person(principal.Member)
		got, err := e.approvals.Approve(t.Context(), e.ada, e.open(hold).ID, approval.Approval{})
		if err != nil || !got.SelfApproved {
			t.Errorf("alone: %+v, %v", got, err)
		}
		e.person(principal.Approver)
		_, err = e.approvals.Approve(t.Context(), e.ada, e.open(hold).ID, approval.Approval{})
		testenv.WantFault(t, "not alone", err, fault.Forbidden)
		var said string
		if err := e.DB.QueryRow(t.Context(),
			`SELECT payload FROM audit_entry WHERE action = 'approval.approved'`).Scan(&said); err != nil {
			t.Fatal(err)
		}
		if said != `{"kind":"hold","needed":1,"permits":"One call of bank.pay with exactly these arguments, within 10 minutes.",`+
			`"selfApproved":true,"tool":"bank.pay","votes":1}` {
			t.Errorf("recorded: %s", said)
		}
	})
}

func TestRolesOfApprovers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		wanted := hold
		wanted.Approvers = &document.Approvers{Role: "admin", Count: 1}
		r := e.open(wanted)
		_, err := e.approvals.Approve(t.Context(), e.person(principal.Approver), r.ID, approval.Approval{})
		testenv.WantFault(t, "a lower role", err, fault.Forbidden)
		_, err = e.approvals.Approve(t.Context(), e.person(principal.Owner), r.ID, approval.Approval{})
		if err != nil {
			t.Errorf("a higher role: %v", err)
		}
	})
}

// TestTwoAnswersAtOnce: one wins.
func TestTwoAnswersAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		r := e.open(hold)
		people := []principal.Principal{
			e.person(principal.Approver), e.person(principal.Admin), e.person(principal.Owner),
			e.person(principal.Approver),
		}
		errs := make([]error, len(people))
		var all sync.WaitGroup
		for i, p := range people {
			all.Go(func() {
				if i%2 == 0 {
					_, errs[i] = e.approvals.Approve(t.Context(), p, r.ID, approval.Approval{})
				} else {
					_, errs[i] = e.approvals.Reject(t.Context(), p, r.ID, "")
				}
			})
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				testenv.WantFault(t, "the others", err, fault.Conflict)
			}
		}
		if won != 1 {
			t.Errorf("%d answers won", won)
		}
	})
}

func TestCancelAndSee(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx, r, bob := t.Context(), e.open(hold), e.person(principal.Approver)
		stranger := principal.Principal{
			Kind: principal.Key, KeyID: database.NewID(), OrgID: e.org, Scopes: principal.RequestableScopes(),
		}
		for name, p := range map[string]principal.Principal{
			"another key": stranger,
			"a member":    e.person(principal.Member),
			"another organization": {
				Kind: principal.User, UserID: bob.UserID, OrgID: database.NewID(), Role: principal.Owner,
			},
		} {
			_, err := e.approvals.Get(ctx, p, r.ID)
			testenv.WantFault(t, name, err, fault.NotFound)
		}
		for _, p := range []principal.Principal{bob, e.key, e.ada} {
			if got, err := e.approvals.Get(ctx, p, r.ID); err != nil || got.ID != r.ID {
				t.Errorf("get: %+v, %v", got, err)
			}
		}
		_, err := e.approvals.Cancel(ctx, stranger, r.ID)
		testenv.WantFault(t, "another key cancels", err, fault.NotFound)
		_, err = e.approvals.Cancel(ctx, bob, r.ID)
		testenv.WantFault(t, "an approver cancels", err, fault.NotFound)
		if got, err := e.approvals.Cancel(ctx, e.key, r.ID); err != nil || got.Status != approval.Cancelled {
			t.Errorf("cancel: %+v, %v", got, err)
		}
		_, err = e.approvals.Approve(ctx, bob, r.ID, approval.Approval{})
		testenv.WantFault(t, "approve what was cancelled", err, fault.Conflict)
	})
}

// TestARestoreBringsNoGrantBack: what was given may have been used since.
func TestARestoreBringsNoGrantBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		waiting, given := e.open(hold), e.open(hold)
		if _, err := e.approvals.Approve(t.Context(), bob, given.ID, approval.Approval{}); err != nil {
			t.Fatal(err)
		}
		e.write(func(ctx context.Context, tx *database.Tx) error {
			if found, err := e.approvals.Find(ctx, tx, given.Call, hold); err != nil || found == nil ||
				!found.Granted(tx.Now()) {
				t.Errorf("before: %+v, %v", found, err)
			}
			ended, err := approval.VoidAll(ctx, tx)
			if ended != 2 {
				t.Errorf("%d ended", ended)
			}
			return err
		})
		e.write(func(ctx context.Context, tx *database.Tx) error {
			for _, r := range []*approval.Request{waiting, given} {
				if found, err := e.approvals.Find(ctx, tx, r.Call, hold); err != nil || found != nil {
					t.Errorf("after: %+v, %v", found, err)
				}
			}
			return nil
		})
	})
}

// TestOnlyUnderTheLog: claims are exact because their log is locked.
func TestOnlyUnderTheLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		r := e.open(hold)
		err := e.DB.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			if _, err := e.approvals.Find(ctx, tx, r.Call, hold); err == nil {
				t.Error("found without the log's lock")
			}
			if _, err := e.approvals.Consume(ctx, tx, r, "d"); err == nil {
				t.Error("consumed without the log's lock")
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		e.write(func(ctx context.Context, tx *database.Tx) error {
			if used, err := e.approvals.Consume(ctx, tx, r, "d"); err != nil || used {
				t.Errorf("a request without a grant was consumed: %t, %v", used, err)
			}
			without := r.Call
			without.Digest = nil
			if _, err := e.approvals.Find(ctx, tx, without, hold); err == nil {
				t.Error("found without a digest")
			}
			if _, err := e.approvals.Open(ctx, tx, without, hold); err == nil {
				t.Error("opened without a digest")
			}
			return nil
		})
		if r.ExpiresAt.Sub(r.CreatedAt) != 30*time.Minute {
			t.Errorf("it waits from %s to %s", r.CreatedAt, r.ExpiresAt)
		}
	})
}

// TestTheLastAnswerCounts where several persons answered about calls that cannot
// be told apart.
func TestTheLastAnswerCounts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		call := approval.Call{Server: "bank", Tool: "pay"}
		find := func(n string) (found *approval.Request) {
			t.Helper()
			asked := e.held(approval.Call{Server: "bank", Tool: "pay", Email: "c@example.org"}, n, hold).Call
			asked.Email = "" // it may be of any of them
			e.write(func(ctx context.Context, tx *database.Tx) (err error) {
				found, err = e.approvals.Find(ctx, tx, asked, hold)
				return err
			})
			return found
		}
		answers := map[string]func(id string){
			"yes": func(id string) { e.approve(bob, id, approval.Approval{}) },
			"no": func(id string) {
				if _, err := e.approvals.Reject(t.Context(), bob, id, ""); err != nil {
					t.Fatal(err)
				}
			},
		}
		for i, c := range []struct {
			first, second string
			want          approval.Status
		}{{"yes", "no", approval.Rejected}, {"no", "yes", approval.Approved}} {
			args := fmt.Sprintf(`{"n":%d}`, i)
			call.Email = "a@example.org"
			a := e.held(call, args, hold)
			call.Email = "b@example.org"
			b := e.held(call, args, hold)
			answers[c.first](b.ID) // the newer question is answered first
			e.Pass(time.Second)
			answers[c.second](a.ID)
			if found := find(args); found == nil || found.ID != a.ID || found.Status != c.want {
				t.Errorf("%s, then %s: %+v", c.first, c.second, found)
			}
		}
	})
}
