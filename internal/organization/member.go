package organization

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// memberList names the list of members in its cursors.
const memberList = "organization.members"

// Members lists who belongs to the organization, who joined first coming first.
// A limit below 1 is the default one, and one too high the highest.
func (s *Service) Members(
	ctx context.Context, p principal.Principal, cursor string, limit int,
) (page.Page[Member], error) {
	if err := p.Require(principal.ReadMembers); err != nil {
		return page.Page[Member]{}, err
	}
	after, err := page.Decode(cursor, memberList, p.OrgID)
	if err != nil {
		return page.Page[Member]{}, err
	}
	if limit < 1 {
		limit = page.DefaultLimit
	}
	limit = min(limit, page.MaxLimit)
	members, err := membersAfter(ctx, s.db, p.OrgID, after, limit+1)
	if err != nil {
		return page.Page[Member]{}, err
	}
	return page.Of(members, limit, func(m Member) page.Cursor {
		return page.Cursor{List: memberList, Scope: p.OrgID, Micros: database.Micros(m.JoinedAt), ID: m.UserID}
	}), nil
}

// ChangeRole gives a member another role. The caller must be allowed to take
// the old role and to give the new one.
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
	if err != nil {
		return Member{}, err
	}
	return changed, nil
}

// Remove ends a membership. Everyone may end their own; to end another's, the
// caller must be allowed to take its role.
func (s *Service) Remove(ctx context.Context, p principal.Principal, userID string) error {
	// Only the person leaves, not one of their keys.
	leaving := p.Kind == principal.User && p.UserID == userID
	action := principal.ManageMembers
	if leaving {
		action = principal.ReadOrganization // every member's
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
		return s.record(ctx, tx, p, p.OrgID, "member.removed", about("member", userID), map[string]any{
			"role": string(m.Role),
		})
	})
}

// keepAnOwner refuses to take the role of the last owner. The organization's
// lock is held, so no other owner goes at the same time.
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

// AddMember makes a person a member without an invitation. It is the operator's,
// for an installation that sends no mail: who has its data needs nobody's leave.
func (s *Service) AddMember(
	ctx context.Context, p principal.Principal, orgID, userID string, role principal.Role,
) error {
	if p.Kind != principal.System {
		return fault.New(fault.Forbidden, "only the operator adds members without an invitation")
	}
	if err := checkRole(role); err != nil {
		return err
	}
	// Before the change too: it must not declare the log of what is not there.
	if _, err := findMembership(ctx, s.db, orgID, role); err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{Logs: []string{orgID}, Do: func(ctx context.Context, tx *database.Tx) error {
		if _, err := findMembership(ctx, tx, orgID, role); err != nil {
			return err
		}
		if has, err := findRole(ctx, tx, orgID, userID); err == nil {
			return fault.New(fault.Conflict, "this person is a member already, as %s", has)
		} else if !fault.Is(err, fault.Forbidden) {
			return err
		}
		return s.join(ctx, tx, p, orgID, userID, role)
	}})
}

// join makes a person a member.
func (s *Service) join(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string, role principal.Role,
) error {
	if err := insertMember(ctx, tx, orgID, userID, role); err != nil {
		return err
	}
	return s.record(ctx, tx, actor, orgID, "member.joined", about("member", userID), map[string]any{
		"role": string(role),
	})
}
