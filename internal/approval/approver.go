package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/principal"
)

// RoleOf is a person's role in an organization now; empty: no member.
type RoleOf func(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error)

// cached asks about each person once.
func (of RoleOf) cached() RoleOf {
	if of == nil {
		return nil
	}
	type person struct{ orgID, userID string }
	known := map[person]principal.Role{}
	return func(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error) {
		if role, ok := known[person{orgID, userID}]; ok {
			return role, nil
		}
		role, err := of(ctx, r, orgID, userID)
		if err == nil {
			known[person{orgID, userID}] = role
		}
		return role, err
	}
}

// mayStill reports whether an approver still has the right to approve: an approval is
// valid only while its approver is in the organization with the role that it required.
// The key's owner answers an ask, whatever their role.
func mayStill(
	ctx context.Context, r database.Reader, roles RoleOf, orgID, userID string, kind Kind, wanted string,
) (bool, error) {
	if roles == nil {
		return false, errors.New("check an approver: nothing here knows the members of an organization")
	}
	role, err := roles(ctx, r, orgID, userID)
	if err != nil {
		return false, fmt.Errorf("check an approver: %w", err)
	}
	if kind == Ask {
		return role != "", nil
	}
	return role.May(principal.DecideApprovals) && isEnough(role, wanted), nil
}

// isEnough reports whether a role is the wanted one or a higher one.
func isEnough(role principal.Role, wanted string) bool {
	roles := principal.Roles()
	at := slices.Index(roles, role)
	return at >= 0 && (wanted == "" || at <= slices.Index(roles, principal.Role(wanted)))
}

// validVotes counts the approvers of a request who still have the right to approve.
func validVotes(ctx context.Context, r database.Reader, roles RoleOf, of *Request) (n int, err error) {
	votes, err := selectVotes(ctx, r, of.ID)
	if err != nil {
		return 0, fmt.Errorf("count the approvers of request %s: %w", of.ID, err)
	}
	for _, vote := range votes {
		may, err := mayStill(ctx, r, roles, of.OrgID, vote.UserID, of.Kind, of.Role)
		if err != nil {
			return 0, err
		}
		if may {
			n++
		}
	}
	return n, nil
}

// stillValid leaves out requests whose grant is not valid any more, because too few of
// their approvers still have the right to approve.
func stillValid(ctx context.Context, r database.Reader, roles RoleOf, requests []Request) (left []Request, err error) {
	for i := range requests {
		of := &requests[i]
		if of.Status == Approved && of.grant.id != "" && !of.grant.used {
			votes, err := validVotes(ctx, r, roles, of)
			if err != nil {
				return nil, err
			}
			if votes < of.Needed {
				continue
			}
		}
		left = append(left, *of)
	}
	return left, nil
}
