package organization

import (
	"context"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// Replaced are the organizations and members of a database that a backup replaces.
type Replaced struct {
	closed map[string]bool                      // by organization: every one is here
	roles  map[string]map[string]principal.Role // by organization and person
}

// ReadReplaced reads the organizations and members of an SQLite database that a backup replaces.
func ReadReplaced(ctx context.Context, r database.Reader) (before Replaced, err error) {
	before = Replaced{map[string]bool{}, map[string]map[string]principal.Role{}}
	_, err = database.Collect(ctx, r, func(s database.Scanner) (none struct{}, err error) {
		var id string
		var closed bool
		err = s.Scan(&id, database.ToBool(&closed))
		before.closed[id], before.roles[id] = closed, map[string]principal.Role{}
		return none, err
	}, `SELECT id, CASE WHEN closed_at IS NULL THEN 0 ELSE 1 END FROM organization`)
	if err != nil {
		return Replaced{}, database.Wrap(err, "read the organizations")
	}
	_, err = database.Collect(ctx, r, func(s database.Scanner) (none struct{}, err error) {
		var orgID, userID string
		var role principal.Role
		if err = s.Scan(&orgID, &userID, &role); err == nil && before.roles[orgID] != nil {
			before.roles[orgID][userID] = role
		}
		return none, err
	}, `SELECT org_id, user_id, role FROM organization_member`)
	return before, database.Wrap(err, "read the members")
}

// KeptOwner is a person whom a restore left owner, because their organization would have none.
type KeptOwner struct {
	OrganizationID string `json:"organizationId"`
	Organization   string `json:"organization"`
	UserID         string `json:"userId"`
	Email          string `json:"email"`
}

// TakenAgain says what a restore took from people again.
type TakenAgain struct {
	Members, Roles, Closed int
	Kept                   []KeptOwner
}

// TakeAgain takes from the members of restored organizations what was taken from them since the backup: those that the
// replaced database lacks are removed, the others have the lesser of both roles, and closed organizations are closed.
// An open organization that would have no owner keeps one. It is for organizations that the replaced database has.
func TakeAgain(ctx context.Context, tx *database.Tx, log *audit.Log, before Replaced) (done TakenAgain, err error) {
	restored, err := installed(ctx, tx)
	if err != nil {
		return done, err
	}
	s := &Service{log: log}
	for _, o := range restored {
		closed, known := before.closed[o.ID]
		if !known {
			continue
		}
		if closed && o.ClosedAt == nil {
			if err := s.closeAgain(ctx, tx, o.ID); err != nil {
				return done, err
			}
			done.Closed++
		}
		if err := s.takeAgain(ctx, tx, o, closed || o.ClosedAt != nil, before.roles[o.ID], &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (s *Service) closeAgain(ctx context.Context, tx *database.Tx, orgID string) error {
	if err := updateClosed(ctx, tx, orgID); err != nil {
		return err
	}
	return s.record(ctx, tx, principal.Operator(), orgID, "organization.closed", about("organization", orgID),
		map[string]any{"restored": true})
}

func (s *Service) takeAgain(
	ctx context.Context, tx *database.Tx, o Installed, closed bool, before map[string]principal.Role, done *TakenAgain,
) error {
	members, err := AllMembers(ctx, tx, o.ID)
	if err != nil {
		return err
	}
	kept := ""
	if !closed {
		if kept, err = keptOwner(ctx, tx, members, before); err != nil {
			return err
		}
	}
	for _, m := range members {
		role, stays := before[m.UserID]
		switch {
		case m.UserID == kept:
			done.Kept = append(done.Kept, KeptOwner{o.ID, o.Name, m.UserID, m.Email})
		case !stays:
			done.Members++
			err = s.removeAgain(ctx, tx, o.ID, m)
		case isLess(role, m.Role):
			done.Roles++
			err = s.lowerAgain(ctx, tx, o.ID, m, role)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isLess reports whether a role is less than another. A role that this build does not know is the least.
func isLess(role, than principal.Role) bool {
	of := func(r principal.Role) int {
		if i := slices.Index(principal.Roles(), r); i >= 0 {
			return i
		}
		return len(principal.Roles())
	}
	return of(role) > of(than)
}

// keptOwner is the owner whom a restore must leave, lest the organization have none; empty: another one stays anyhow.
// It is rather one who is still a member than one who was removed, and rather that than a deleted account.
func keptOwner(
	ctx context.Context, r database.Reader, members []Member, before map[string]principal.Role,
) (kept string, err error) {
	best := -1
	for _, m := range members {
		if m.Role != principal.Owner {
			continue
		}
		if before[m.UserID] == principal.Owner {
			return "", nil
		}
		var live int
		err := r.QueryRow(ctx, `SELECT CASE WHEN deleted_at IS NULL THEN 1 ELSE 0 END FROM user_account WHERE id = $1`,
			m.UserID).Scan(&live)
		if err != nil {
			return "", database.Wrap(err, "look for the account of an owner")
		}
		if _, stays := before[m.UserID]; stays {
			live += 2
		}
		if live > best {
			kept, best = m.UserID, live
		}
	}
	return kept, nil
}

func (s *Service) removeAgain(ctx context.Context, tx *database.Tx, orgID string, m Member) error {
	if err := deleteMember(ctx, tx, orgID, m.UserID); err != nil {
		return err
	}
	return s.record(ctx, tx, principal.Operator(), orgID, "member.removed", about("member", m.UserID),
		map[string]any{"role": string(m.Role), "restored": true})
}

func (s *Service) lowerAgain(ctx context.Context, tx *database.Tx, orgID string, m Member, role principal.Role) error {
	if err := updateRole(ctx, tx, orgID, m.UserID, role); err != nil {
		return err
	}
	return s.record(ctx, tx, principal.Operator(), orgID, "member.role_changed", about("member", m.UserID),
		map[string]any{"from": string(m.Role), "to": string(role), "restored": true})
}
