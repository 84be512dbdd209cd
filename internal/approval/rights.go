package approval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// mayApprove refuses whoever may not approve. It reports whether the approver of a hold
// is also the requester, because nobody else could or the organization allows it.
func (s *Service) mayApprove(
	ctx context.Context, tx *database.Tx, p principal.Principal, r *Request,
) (self bool, err error) {
	if r.Kind == Ask {
		if p.UserID != r.OwnerID {
			return false, fault.New(fault.Forbidden, "this is asked of the person the agent works for")
		}
		return false, nil
	}
	if err := mayDecide(p, r); err != nil {
		return false, err
	}
	requesters, err := s.requesters(ctx, tx, r)
	if err != nil {
		return false, err
	}
	if !slices.Contains(requesters, p.UserID) {
		if named, err := s.isFor(ctx, tx, p, r); err != nil || !named {
			return false, err
		}
	}
	settings, err := readSettings(ctx, tx, r.OrgID)
	if err != nil {
		return false, err
	}
	if settings.SelfApproval {
		return true, nil
	}
	return true, s.nobodyElse(ctx, tx, p, r, requesters)
}

// requesters are the owner of the key that calls, and those of the keys that delegated the call: nobody approves by
// delegating.
func (s *Service) requesters(ctx context.Context, tx *database.Tx, r *Request) ([]string, error) {
	owners := []string{r.OwnerID}
	if r.PlanID == "" || s.sources.Delegators == nil {
		return owners, nil
	}
	above, err := s.sources.Delegators(ctx, tx, r.OrgID, r.PlanID)
	if err != nil {
		return nil, fmt.Errorf("find who delegated a call: %w", err)
	}
	return append(owners, above...), nil
}

// isFor reports whether the call says that it is made for this person. A client can only
// take a right away by saying so.
func (s *Service) isFor(ctx context.Context, tx *database.Tx, p principal.Principal, r *Request) (bool, error) {
	if r.UserID == "" && r.Email == "" {
		return false, nil
	}
	if r.UserID == p.UserID {
		return true, nil
	}
	if s.sources.Address == nil {
		return false, errOwnRequest()
	}
	address, err := s.sources.Address(ctx, tx, p.UserID)
	if err != nil {
		return false, fmt.Errorf("find the person a call is for: %w", err)
	}
	return address != "" && (strings.EqualFold(address, r.Email) || strings.EqualFold(address, r.UserID)), nil
}

// nobodyElse refuses one's own request while somebody else could answer it. The
// requesters do not count: they may not answer either. Where several must approve, who is alone cannot end it: the vote
// would only count later, beside that of somebody else.
func (s *Service) nobodyElse(
	ctx context.Context, tx *database.Tx, p principal.Principal, r *Request, requesters []string,
) error {
	if s.sources.Approvers == nil {
		return errOwnRequest()
	}
	others, err := s.sources.Approvers(ctx, tx, r.OrgID, append(requesters, p.UserID)...)
	if err != nil {
		return fmt.Errorf("count the approvers: %w", err)
	}
	if others != 0 {
		return errOwnRequest()
	}
	if r.Needed > 1 {
		return fault.New(fault.Forbidden, "this is your own request, and %d must approve it: invite others who may", r.Needed)
	}
	return nil
}

func errOwnRequest() error {
	return fault.New(fault.Forbidden, "this is your own request: somebody else must approve")
}

// mayDecide admits approvers with the role that the rule requires, or a higher one.
func mayDecide(p principal.Principal, r *Request) error {
	if err := p.Require(principal.DecideApprovals); err != nil {
		return err
	}
	if !isEnough(p.Role, r.Role) {
		return fault.New(fault.Forbidden, "this needs an approver with the role %s", r.Role)
	}
	return nil
}
