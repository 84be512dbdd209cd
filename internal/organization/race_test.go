package organization_test

import (
	"context"
	"testing"
	"time"

	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/testenv"
)

const rounds = 12 // so that the two meet in more than one way

// eachPair gives the test two processes' worth of services on one database.
func eachPair(t *testing.T, body func(t *testing.T, e *env, other *organization.Service)) {
	t.Helper()
	each(t, func(t *testing.T, e *env) {
		other := e.Replica()
		body(t, e, organization.New(other.DB, other.Log, e.mails, "https://writ.example.org", nil))
	})
}

// wantOne checks that exactly one of the two was done and why the other was not.
func wantOne(t *testing.T, what string, errs []error, refused fault.Kind) {
	t.Helper()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("%s: %v and %v, want one of them done", what, errs[0], errs[1])
	}
	for _, err := range errs {
		if err != nil {
			testenv.WantFault(t, what, err, refused)
		}
	}
}

// TestTwoOwnersAtOnce has the only two owners take ownership from each other, or
// give it up, at the same time on two replicas. One must always be left.
func TestTwoOwnersAtOnce(t *testing.T) {
	t.Parallel()
	type act = func(ctx context.Context, s *organization.Service, me, other principal.Principal) error
	tests := []struct {
		name    string
		act     act
		refused fault.Kind
	}{
		{"demote each other", func(ctx context.Context, s *organization.Service, me, other principal.Principal) error {
			_, err := s.ChangeRole(ctx, me, other.UserID, principal.Member)
			return err
		}, fault.Forbidden}, // whoever comes second is no owner any more
		{"remove each other", func(ctx context.Context, s *organization.Service, me, other principal.Principal) error {
			return s.Remove(ctx, me, other.UserID, nil)
		}, fault.Forbidden},
		{"step down", func(ctx context.Context, s *organization.Service, me, _ principal.Principal) error {
			_, err := s.ChangeRole(ctx, me, me.UserID, principal.Member)
			return err
		}, fault.Conflict},
		{"leave", func(ctx context.Context, s *organization.Service, me, _ principal.Principal) error {
			return s.Remove(ctx, me, me.UserID, nil)
		}, fault.Conflict},
		{"the operator demotes both",
			func(ctx context.Context, s *organization.Service, me, _ principal.Principal) error {
				operator := principal.Principal{Kind: principal.System, OrgID: me.OrgID}
				_, err := s.ChangeRole(ctx, operator, me.UserID, principal.Member)
				return err
			}, fault.Conflict},
	}
	eachPair(t, func(t *testing.T, e *env, other *organization.Service) {
		for _, tt := range tests {
			for range rounds {
				a := e.create(t, "Blue")
				b := e.add(t, a.OrgID, principal.Owner)
				errs := testenv.AtOnce(
					func() error { return tt.act(t.Context(), e.service, a, b) },
					func() error { return tt.act(t.Context(), other, b, a) },
				)
				wantOne(t, tt.name, errs, tt.refused)
				var owners int
				err := e.DB.QueryRow(t.Context(),
					`SELECT COUNT(*) FROM organization_member WHERE org_id = $1 AND role = 'owner'`,
					a.OrgID).Scan(&owners)
				if err != nil || owners != 1 {
					t.Errorf("%s: %d owners are left (%v), want 1", tt.name, owners, err)
				}
				if log := e.log(t, a.OrgID, 2); len(log) != 1 {
					t.Errorf("%s: log %+v, want one entry", tt.name, log)
				}
			}
		}
	})
}

func TestAcceptAtOnce(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, e *env, other *organization.Service) {
		joiner := e.joiner(t)
		for range rounds {
			e.Pass(time.Hour) // an address is invited only so often
			owner := e.create(t, "Blue")
			_, token := e.invite(t, owner, joinerEmail, principal.Member)
			accept := func(s *organization.Service) func() error {
				return func() error {
					_, err := s.Accept(t.Context(), joiner, joinerEmail, token)
					return err
				}
			}
			wantOne(t, "accept twice", testenv.AtOnce(accept(e.service), accept(other)), fault.NotFound)
			if log := e.log(t, owner.OrgID, 2); len(log) != 3 {
				t.Errorf("log %+v, want that one was invited and joined once", log)
			}
		}
	})
}

// Whoever comes first, an invitation that was withdrawn makes no member, and one
// that made a member was not withdrawn.
func TestAcceptAndWithdrawAtOnce(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, e *env, other *organization.Service) {
		joiner := e.joiner(t)
		for range rounds {
			e.Pass(time.Hour)
			owner := e.create(t, "Blue")
			invite, token := e.invite(t, owner, joinerEmail, principal.Member)
			errs := testenv.AtOnce(
				func() error { return e.service.Withdraw(t.Context(), owner, invite.ID) },
				func() error {
					_, err := other.Accept(t.Context(), joiner, joinerEmail, token)
					return err
				},
			)
			wantOne(t, "accept and withdraw", errs, fault.NotFound)
			_, err := e.service.RoleOf(t.Context(), owner.OrgID, joiner.UserID)
			if joined := err == nil; joined != (errs[1] == nil) {
				t.Errorf("joined is %t, but Accept said %v", joined, errs[1])
			}
		}
	})
}
