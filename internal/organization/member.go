package organization

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// Members lists the members of the organization in the order in which they joined.
func (s *Service) Members(
	ctx context.Context, p principal.Principal, cursor string, limit int,
) (page.Page[Member], error) {
	if err := p.Require(principal.ReadMembers); err != nil {
		return page.Page[Member]{}, err
	}
	q := page.Query{List: "organization.members", Scope: p.OrgID, Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Member, error) {
		return membersAfter(ctx, s.db, p.OrgID, after, limit)
	}, func(m Member) (time.Time, string) { return m.JoinedAt, m.UserID })
}

// ChangeRole gives a member another role. The caller must have the right to take the
// old role and to give the new one.
func (s *Service) ChangeRole(
	ctx context.Context, p principal.Principal, userID string, role principal.Role,
) (Member, error) {
	if err := checkRole(role); err != nil {
		return Member{}, err
	}
	var changed Member
	err := s.change(ctx, p, role.ManageRole(), func(ctx context.Context, tx *database.Tx, p principal.Principal) error {
		m, err := findMember(ctx, tx, p.OrgID, userID)
		if err != nil {
			return err
		}
		if err := p.Require(m.Role.ManageRole()); err != nil {
			return err
		}
		changed = m
		changed.Role = role
		if m.Role == role {
			return nil
		}
		if err := keepAnOwner(ctx, tx, p.OrgID, m); err != nil {
			return err
		}
		if err := updateRole(ctx, tx, p.OrgID, userID, role); err != nil {
			return err
		}
		return s.record(ctx, tx, p, p.OrgID, "member.role_changed", about("member", userID),
			map[string]any{"from": string(m.Role), "to": string(role)})
	})
	return changed, err
}

// Remove ends a membership. Everyone may end their own; ending another's takes the
// right to take its role.
func (s *Service) Remove(ctx context.Context, p principal.Principal, userID string, left KeysLeft) error {
	leaving := p.Kind == principal.User && p.UserID == userID // not by one of their keys
	action := principal.ManageMembers
	if leaving {
		action = principal.ReadOrganization // which every member may
	}
	return s.change(ctx, p, action, func(ctx context.Context, tx *database.Tx, p principal.Principal) error {
		m, err := findMember(ctx, tx, p.OrgID, userID)
		if err != nil {
			return err
		}
		if !leaving {
			if err := p.Require(m.Role.ManageRole()); err != nil {
				return err
			}
		}
		if err := keepAnOwner(ctx, tx, p.OrgID, m); err != nil {
			return err
		}
		if err := deleteMember(ctx, tx, p.OrgID, userID); err != nil {
			return err
		}
		removed := map[string]any{"role": string(m.Role)}
		if left != nil {
			if removed["keysLeft"], err = left(ctx, tx, p.OrgID, userID); err != nil {
				return err
			}
		}
		return s.record(ctx, tx, p, p.OrgID, "member.removed", about("member", userID), removed)
	})
}

// KeysLeft lists the ids of the keys of a former member that still decide calls: they belong to the organization.
type KeysLeft func(ctx context.Context, tx *database.Tx, orgID, userID string) ([]string, error)

// keepAnOwner refuses to take the role of the last owner. The organization's lock is
// held, so no other owner goes at the same time.
func keepAnOwner(ctx context.Context, tx *database.Tx, orgID string, m Member) error {
	if m.Role != principal.Owner {
		return nil
	}
	owners, err := countOwners(ctx, tx, orgID)
	if err != nil {
		return err
	}
	if owners <= 1 {
		return fault.New(fault.Conflict, "an organization needs an owner: make another member one first")
	}
	return nil
}

// AddMember makes a person a member without an invitation. Only the operator may use
// it, for an installation that sends no mail.
func (s *Service) AddMember(
	ctx context.Context, p principal.Principal, orgID, userID string, role principal.Role,
) error {
	if p.Kind != principal.System {
		return fault.New(fault.Forbidden, "only the operator can add members without an invitation")
	}
	if err := checkRole(role); err != nil {
		return err
	}
	// Before the change too, which must not declare the log of an unknown organization.
	if _, err := findMembership(ctx, s.db, orgID, role); err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{Logs: []string{orgID}, Do: func(ctx context.Context, tx *database.Tx) error {
		if _, err := findMembership(ctx, tx, orgID, role); err != nil {
			return err
		}
		if has, err := RoleIn(ctx, tx, orgID, userID); err == nil {
			return alreadyMember(has, role)
		} else if !fault.Is(err, fault.Forbidden) {
			return err
		}
		return s.Join(ctx, tx, p, orgID, userID, role)
	}})
}

// alreadyMember says how to change a role instead. An owner keeps theirs: the last one cannot lose it.
func alreadyMember(has, wanted principal.Role) error {
	if has == wanted || has == principal.Owner {
		return fault.New(fault.Conflict, "this person is already a member, as %s", has)
	}
	return fault.New(fault.Conflict, "this person is already a member, as %s: an owner changes the role with "+
		"writ members role", has)
}

// JoinVouched is Join for somebody who comes by the organization's identity provider for the first time, if there is a
// seat for them. A sign-in is never answered with a demand for payment: it is refused, with what to do.
func (s *Service) JoinVouched(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID, address string, role principal.Role,
) error {
	if err := s.checkSeat(ctx, tx, orgID, address); fault.Is(err, fault.QuotaReached) {
		return fault.Wrap(err, fault.Forbidden,
			"the organization's plan has no seat for you: ask an owner or admin to choose a larger plan in the "+
				"settings, under billing, or to withdraw an invitation or remove a member; then sign in again")
	} else if err != nil {
		return err
	}
	if err := s.Join(ctx, tx, actor, orgID, userID, role); err != nil {
		return err
	}
	return s.endInvites(ctx, tx, actor, orgID, address)
}

// endInvites withdraws the invitations of somebody who has joined without them. They would hold a second seat, and let
// the person come back after being removed.
func (s *Service) endInvites(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, address string,
) error {
	invites, err := validInvites(ctx, tx, orgID, tx.Now())
	if err != nil {
		return err
	}
	for _, invite := range invites {
		if invite.Email != address {
			continue
		}
		if _, err := updateWithdrawn(ctx, tx, orgID, invite.ID); err != nil {
			return err
		}
		if err := s.recordWithdrawn(ctx, tx, actor, invite, "joined without it"); err != nil {
			return err
		}
	}
	return nil
}

// Join makes a person a member within a change that declares the organization's log.
// It checks no right: an invitation, an identity provider or the operator vouches for
// the person.
func (s *Service) Join(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string, role principal.Role,
) error {
	if err := insertMember(ctx, tx, orgID, userID, role); err != nil {
		return err
	}
	return s.record(ctx, tx, actor, orgID, "member.joined", about("member", userID), map[string]any{
		"role": string(role),
	})
}
