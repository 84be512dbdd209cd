package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"writ/internal/database"
	"writ/internal/principal"
)

// RoleOf is what a person is in an organization now; empty: no member.
type RoleOf func(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error)

// remembered asks about each person once, for one look at many yeses.
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

// mayStill reports whether a person who said yes could say it now: a yes counts
// while who said it is in the organization, with the role that it took. An ask is
// answered by the owner of the key, whatever their role.
func mayStill(
	ctx context.Context, r database.Reader, roles RoleOf, orgID, userID string, kind Kind, wanted string,
) (bool, error) {
	if roles == nil {
		return false, errors.New("look whether a yes still counts: nothing here knows who is in an organization")
	}
	role, err := roles(ctx, r, orgID, userID)
	if err != nil {
		return false, fmt.Errorf("look whether a yes still counts: %w", err)
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

// standingVotes counts who said yes to a request and may still do so.
func validVotes(ctx context.Context, r database.Reader, roles RoleOf, of *Request) (n int, err error) {
	votes, err := selectVotes(ctx, r, of.ID)
	if err != nil {
		return 0, fmt.Errorf("count who approves request %s: %w", of.ID, err)
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

// standing leaves out the requests whose yes does not count any more, because who
// said it may not say it now.
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
