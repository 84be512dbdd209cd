package approval_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/testenv"
)

var twoApprovers = &document.Approvers{Role: "approver", Count: 2}

// TestWhomACallIsFor: the person a call names does not approve it either, unless
// only the owner of the key were left.
func TestWhomACallIsFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		named := func(call approval.Call) *approval.Request {
			call.Server, call.Tool = "bank", "pay"
			return e.held(call, `{"id":"`+database.NewID()+`"}`, hold)
		}
		byID, byAddress := named(approval.Call{UserID: bob.UserID}),
			named(approval.Call{Email: bob.UserID + "@EXAMPLE.org"})
		if got := e.approve(bob, byID.ID, approval.Approval{}); !got.SelfApproved {
			t.Error("bob approved for himself, for lack of others, and that is not marked")
		}
		if got, err := e.approvals.Get(t.Context(), bob, byID.ID); err != nil || !got.SelfApproved {
			t.Errorf("the mark is not kept: %+v, %v", got, err)
		}
		carol := e.person(principal.Admin)
		for name, r := range map[string]*approval.Request{
			"by id": named(approval.Call{UserID: bob.UserID}), "by address": byAddress,
			"address as id": named(approval.Call{UserID: bob.UserID + "@example.org"}),
		} {
			_, err := e.approvals.Approve(t.Context(), bob, r.ID, approval.Approval{})
			testenv.WantFault(t, name, err, fault.Forbidden)
			if got := e.approve(carol, r.ID, approval.Approval{}); got.SelfApproved || got.DecidedBy != carol.UserID ||
				got.DecidedRole != "admin" {
				t.Errorf("%s: somebody else: %+v", name, got)
			}
		}
		// Naming somebody else gains the owner nothing.
		_, err := e.approvals.Approve(t.Context(), e.ada, named(approval.Call{Email: bob.UserID + "@example.org"}).ID,
			approval.Approval{})
		testenv.WantFault(t, "the owner", err, fault.Forbidden)
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		if got, err := e.approvals.Settings(t.Context(), e.org); err != nil || got != approval.DefaultSettings() ||
			got.SelfApproval {
			t.Errorf("defaults: %+v, %v", got, err)
		}
		to := approval.Settings{SelfApproval: true, PendingLife: 2 * time.Hour, GrantLife: time.Minute}
		for name, p := range map[string]principal.Principal{
			"a key": e.key, "an approver": bob, "the operator": principal.Operator(),
		} {
			_, err := e.approvals.SetSettings(t.Context(), p, to)
			testenv.WantFault(t, name, err, fault.Forbidden)
		}
		for name, bad := range map[string]approval.Settings{
			"zero": {}, "short": {PendingLife: time.Second, GrantLife: time.Minute},
			"long":               {PendingLife: time.Hour, GrantLife: 25 * time.Hour},
			"a part of a second": {PendingLife: time.Hour, GrantLife: time.Minute + time.Millisecond},
		} {
			_, err := e.approvals.SetSettings(t.Context(), e.ada, bad)
			testenv.WantFault(t, name, err, fault.Invalid)
		}
		before := e.open(hold)
		for range 2 {
			if got, err := e.approvals.SetSettings(t.Context(), e.ada, to); err != nil || got != to {
				t.Fatalf("set: %+v, %v", got, err)
			}
		}
		if got, err := e.approvals.Settings(t.Context(), e.org); err != nil || got != to {
			t.Errorf("stored: %+v, %v", got, err)
		}
		if got := e.approve(e.ada, before.ID, approval.Approval{}); !got.SelfApproved ||
			got.GrantExpiresAt().Sub(*got.DecidedAt) != approval.GrantLife {
			t.Errorf("her own, opened before: %+v", got)
		}
		after := e.open(hold)
		if after.ExpiresAt.Sub(after.CreatedAt) != 2*time.Hour {
			t.Errorf("it waits until %s", after.ExpiresAt)
		}
		if got := e.approve(bob, after.ID, approval.Approval{}); got.SelfApproved ||
			got.GrantExpiresAt().Sub(*got.DecidedAt) != time.Minute {
			t.Errorf("opened after: %+v", got)
		}
	})
}

// TestSeveralMustSayTheSame: nobody can tell what two different yeses permit.
func TestSeveralMustSayTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob, carol := e.person(principal.Approver), e.person(principal.Admin)
		two := hold
		two.Approvers = twoApprovers
		hour := approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 60}}
		longer := approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 61}}
		edited := approval.Approval{Arguments: []byte(`{"n":2}`)}
		same := approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 60, Uses: 100}}
		for name, c := range map[string]struct{ first, other, agreed approval.Approval }{
			"wider than once": {
				approval.Approval{}, hour, approval.Approval{Scope: approval.Scope{Kind: approval.Once}},
			},
			"once after wider": {hour, approval.Approval{}, same},
			"longer":           {hour, longer, hour},
			// nothing is changed so
			"changed":     {approval.Approval{}, edited, approval.Approval{Arguments: []byte(`{"n": 1.0}`)}},
			"not changed": {edited, approval.Approval{}, edited},
		} {
			r := e.held(approval.Call{Server: "bank", Tool: "pay"}, `{"n":1}`, two)
			if got := e.approve(bob, r.ID, c.first); got.Status != approval.Pending {
				t.Errorf("%s: the first of two: %+v", name, got)
			}
			_, err := e.approvals.Approve(t.Context(), carol, r.ID, c.other)
			testenv.WantFault(t, name, err, fault.Conflict)
			got := e.approve(carol, r.ID, c.agreed)
			if got.Status != approval.Approved || (got.Edited == `{"n":2}`) != (c.first.Arguments != nil) {
				t.Errorf("%s: agreed: %+v", name, got)
			}
			if words := got.Scope.Words(got); strings.Contains(words,
				"the changed arguments") != (c.first.Arguments != nil) {
				t.Errorf("%s: it permits: %s", name, words)
			}
			if read, err := e.approvals.Get(t.Context(), bob, r.ID); err != nil || len(read.Votes) != 2 ||
				read.Votes[0].UserID == read.Votes[1].UserID {
				t.Errorf("%s: votes: %+v, %v", name, read.Votes, err)
			}
		}
	})
}

// TestWhoSeesAWiderYes, and who takes it back.
func TestWhoSeesAWiderYes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob, mel := e.person(principal.Approver), e.person(principal.Member)
		minutes := approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 5}}
		e.approve(bob, e.open(hold).ID, minutes)
		see := func(p principal.Principal) []approval.StandingApproval {
			t.Helper()
			allows, err := e.approvals.ListStanding(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			return allows
		}
		elsewhere := bob
		elsewhere.OrgID = database.NewID()
		former := e.ada
		former.Role = principal.Member // an owner of keys who may not approve
		if len(see(bob)) != 1 || len(see(former)) != 1 || len(see(mel)) != 0 || len(see(elsewhere)) != 0 {
			t.Errorf("seen by %d, %d, %d, %d", len(see(bob)), len(see(former)), len(see(mel)), len(see(elsewhere)))
		}
		id := see(bob)[0].ID
		_, err := e.approvals.ListStanding(t.Context(), e.key)
		testenv.WantFault(t, "a key sees", err, fault.Forbidden)
		for name, c := range map[string]struct {
			by   principal.Principal
			id   string
			kind fault.Kind
		}{
			"a key": {e.key, id, fault.Forbidden}, "a member": {mel, id, fault.NotFound},
			"elsewhere": {elsewhere, id, fault.NotFound},
			"none":      {bob, database.NewID(), fault.NotFound}, "no id": {bob, "x", fault.NotFound},
		} {
			_, err := e.approvals.Revoke(t.Context(), c.by, c.id)
			testenv.WantFault(t, name, err, c.kind)
		}
		if len(see(bob)) != 1 {
			t.Error("somebody took it back")
		}
		if got, err := e.approvals.Revoke(t.Context(), former, id); err != nil || got.RevokedBy != e.ada.UserID ||
			len(see(bob)) != 0 {
			t.Errorf("its owner: %+v, %v", got, err)
		}
		e.approve(bob, e.open(hold).ID, minutes)
		e.Pass(5 * time.Minute)
		if len(see(bob)) != 0 {
			t.Error("its time is over, and it stands")
		}
	})
}
