package approval_test

import (
	"context"
	"strings"
	"testing"

	"writ/internal/approval"
	"writ/internal/approval/pattern"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// TestAnErasedPatternIsGone everywhere, and the wider yes with it.
func TestAnErasedPatternIsGone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		r := e.held(approval.Call{Server: "bank", Tool: "pay"}, `{"to":"landlord"}`, hold)
		pattern, err := pattern.Parse([]byte(`{"to":{"equals":"landlord"}}`))
		if err != nil {
			t.Fatal(err)
		}
		e.approve(bob, r.ID, approval.Approval{Scope: approval.Scope{Kind: approval.ByPattern, Pattern: pattern}})
		var entry int64
		if err := e.DB.QueryRow(t.Context(), `SELECT decided_at_entry FROM approval_request WHERE id = $1`,
			r.ID).Scan(&entry); err != nil {
			t.Fatal(err)
		}
		e.write(func(ctx context.Context, tx *database.Tx) error {
			return approval.EraseArguments(ctx, tx, e.org, []int64{entry})
		})
		var scope, words, kept string
		if err := e.DB.QueryRow(t.Context(),
			`SELECT r.scope, a.words, a.pattern FROM temporary_allow a JOIN approval_request r ON r.id = a.request_id`).Scan(&scope, &words, &kept); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(scope+words+kept, "landlord") {
			t.Errorf("still there: %s, %s, %s", scope, words, kept)
		}
		if allows, err := e.approvals.ListStanding(t.Context(), bob); err != nil || len(allows) != 0 {
			t.Errorf("still standing: %+v, %v", allows, err)
		}
		if got, err := e.approvals.Get(t.Context(), bob, r.ID); err != nil || got.Scope.Kind != approval.ByPattern {
			t.Errorf("the request: %+v, %v", got.Scope, err)
		}
	})
}

// TestErasedAmountsAreGone: they are the client's words, and stand among the reasons
// of a risk.
func TestErasedAmountsAreGone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		r, _ := e.ask(approval.Asked{Tool: "pay", Domain: "bank", Amount: amount(31337), Reason: "for 31337"})
		if r.Risk.Level == "" || len(r.Risk.Reasons) == 0 {
			t.Fatalf("no risk to erase: %+v", r.Risk)
		}
		var entry int64
		if err := e.DB.QueryRow(t.Context(), `SELECT opened_at_entry FROM approval_request WHERE id = $1`,
			r.ID).Scan(&entry); err != nil {
			t.Fatal(err)
		}
		e.write(func(ctx context.Context, tx *database.Tx) error {
			return approval.EraseArguments(ctx, tx, e.org, []int64{entry})
		})
		got, err := e.approvals.Get(t.Context(), e.ada, r.ID)
		if err != nil || got.Amount != nil || got.AskedFor != "" || len(got.Risk.Reasons) != 0 ||
			got.Risk.Level != r.Risk.Level {
			t.Errorf("still there: %v, %q, %+v, %v", got.Amount, got.AskedFor, got.Risk, err)
		}
	})
}

// TestAnErasedRequestIsNotApproved: nobody sees any more what they would approve.
func TestAnErasedRequestIsNotApproved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		asked := approval.Asked{Tool: "pay", Domain: "bank", Arguments: []byte(`{"to":"landlord"}`)}
		r, _ := e.ask(asked)
		answered, _ := e.ask(approval.Asked{Tool: "pay", Domain: "bank", Arguments: []byte(`{"to":"shop"}`)})
		e.approve(bob, answered.ID, approval.Approval{})
		for _, id := range []string{r.ID, answered.ID} {
			e.write(func(ctx context.Context, tx *database.Tx) error {
				var entry int64
				if err := tx.QueryRow(ctx, `SELECT opened_at_entry FROM approval_request WHERE id = $1`,
					id).Scan(&entry); err != nil {
					return err
				}
				return approval.EraseArguments(ctx, tx, e.org, []int64{entry})
			})
		}
		_, err := e.approvals.Approve(t.Context(), bob, r.ID, approval.Approval{})
		testenv.WantFault(t, "approve what nobody sees", err, fault.Conflict)
		if got, err := e.approvals.Get(t.Context(), bob, r.ID); err != nil || got.Status != approval.Expired {
			t.Errorf("the request is %s, %v", got.Status, err)
		}
		if got, err := e.approvals.Get(t.Context(), bob, answered.ID); err != nil || got.Status != approval.Approved {
			t.Errorf("the one that was answered before is %s, %v", got.Status, err)
		}
		again, opened := e.ask(asked)
		if !opened || again.Arguments != `{"to":"landlord"}` {
			t.Errorf("asked again: %t, %+v", opened, again)
		}
		e.approve(bob, again.ID, approval.Approval{})
	})
}
