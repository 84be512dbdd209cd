package approval_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/principal"
)

// openCall opens a request about a call with these arguments.
func (e *env) openCall(call approval.Call) (r *approval.Request) {
	e.T.Helper()
	call.OrgID, call.KeyID, call.OwnerID, call.Digest = e.org, e.key.KeyID, e.ada.UserID, []byte(database.NewID())
	e.write(func(ctx context.Context, tx *database.Tx) (err error) {
		r, err = e.approvals.Open(ctx, tx, call, hold)
		return err
	})
	return r
}

func codesOf(r approval.Request) string {
	var codes []string
	for _, reason := range r.Risk.Reasons {
		codes = append(codes, reason.Code)
	}
	return strings.Join(codes, " ")
}

// TestRiskOfARequest: a request carries how it looked when it was opened, and why.
func TestRiskOfARequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		call := approval.Call{
			Server:    "bank",
			Tool:      "pay",
			Arguments: `{"amount":100}`,
			PlanID:    database.NewID(),
			Step:      0,
		}
		opened := e.openCall(call)
		got, err := e.approvals.Get(t.Context(), bob, opened.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := approval.Risk{Level: "high", Score: 55, Reasons: []approval.RiskReason{
			{Code: "class_money", Words: "the tool moves money"},
			{Code: "amount_new", Words: "it moves 100, and there are too few earlier amounts to compare with"},
			{Code: "first_tool", Words: "this caller has not run this tool before"},
		}}
		if diff := cmp.Diff(want, got.Risk); diff != "" {
			t.Errorf("risk (-want +got):\n%s", diff)
		}
		if _, err := e.approvals.Reject(t.Context(), bob, opened.ID, ""); err != nil {
			t.Fatal(err)
		}
		again := e.openCall(call)
		if again.Risk.Level != "high" || again.Risk.Score != 75 ||
			codesOf(*again) != "class_money amount_new first_tool rejected_before" {
			t.Errorf("after a no: %+v", again.Risk)
		}
		unseen := e.openCall(approval.Call{Server: "fs", Tool: "read_file"})
		if codesOf(*unseen) != "first_tool arguments_unseen no_plan" {
			t.Errorf("arguments that are not shown: %+v", unseen.Risk)
		}
		for range 3 {
			e.openCall(call)
		}
		if burst := e.openCall(approval.Call{
			Server: "fs", Tool: "read_file", Arguments: `{}`,
		}); !strings.Contains(codesOf(*burst), "burst") {
			t.Errorf("the seventh request at once: %+v", burst.Risk)
		}
	})
}

// TestRiskKnowsOnlyItsOwn: what others were told, or asked, says nothing about a key.
func TestRiskKnowsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		now := e.DB.Now()
		elsewhere := e.Organization("Other")
		for range 6 {
			a := no(elsewhere, "eve", now, 0)
			e.add(a) // of the same key id, in another organization
		}
		r := e.openCall(approval.Call{Server: "s", Tool: "t", Arguments: `{}`})
		if codesOf(*r) != "class_unknown first_tool no_plan" {
			t.Errorf("another organization's requests count: %+v", r.Risk)
		}
		for range 6 {
			e.add(no(e.org, "eve", now, 0))
		}
		r = e.openCall(approval.Call{Server: "s", Tool: "t", Arguments: `{}`})
		if !strings.Contains(codesOf(*r), "rejected_often burst") {
			t.Errorf("its own do not: %+v", r.Risk)
		}
	})
}
