package organization

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Installed is an organization as whoever runs the server sees it.
type Installed struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Members   int64      `json:"members"`
	CreatedAt time.Time  `json:"createdAt"`
	ClosedAt  *time.Time `json:"closedAt,omitempty"`
}

// Installed lists all organizations, the oldest first, with those that are closed. Only the operator may use it.
func (s *Service) Installed(ctx context.Context, p principal.Principal) ([]Installed, error) {
	if p.Kind != principal.System {
		return nil, fault.New(fault.Forbidden, "only the operator can list all organizations")
	}
	return installed(ctx, s.db)
}

// IDNamed is the id of the open organization with an id or exact name. Only the operator may use it.
func (s *Service) IDNamed(ctx context.Context, p principal.Principal, named string) (string, error) {
	all, err := s.Installed(ctx, p)
	if err != nil {
		return "", err
	}
	var found []string
	for _, o := range all {
		switch {
		case o.ID == named:
			return o.ID, nil
		case o.Name == named && o.ClosedAt == nil:
			found = append(found, o.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fault.New(fault.NotFound, "there is no such organization: give an id or an exact name of writd org list")
	}
	return "", fault.New(fault.Conflict, "%d organizations are called %q: give an id", len(found), named)
}

// InstalledMember is a member of an open organization as whoever runs the server sees it.
type InstalledMember struct {
	UserID string         `json:"-"`
	OrgID  string         `json:"id"`
	Name   string         `json:"name"` // of the organization
	Role   principal.Role `json:"role"`
}

// InstalledMembers lists the members of all open organizations, those of the oldest organization first. Only the
// operator may use it.
func (s *Service) InstalledMembers(ctx context.Context, p principal.Principal) ([]InstalledMember, error) {
	if p.Kind != principal.System {
		return nil, fault.New(fault.Forbidden, "only the operator can list the members of all organizations")
	}
	list, err := database.Collect(ctx, s.db, func(s database.Scanner) (m InstalledMember, err error) {
		err = s.Scan(&m.UserID, &m.OrgID, &m.Name, &m.Role)
		return m, err
	}, `
		SELECT m.user_id, o.id, o.name, m.role
		FROM organization_member m
		JOIN organization o ON o.id = m.org_id
		WHERE o.closed_at IS NULL
		ORDER BY o.id, m.user_id`)
	return list, database.Wrap(err, "list the members of all organizations")
}

func installed(ctx context.Context, r database.Reader) ([]Installed, error) {
	list, err := database.Collect(ctx, r, func(s database.Scanner) (o Installed, err error) {
		err = s.Scan(&o.ID, &o.Name, &o.Members, database.ToTime(&o.CreatedAt), database.ToOptionalTime(&o.ClosedAt))
		return o, err
	}, `
		SELECT o.id, o.name, (SELECT COUNT(*) FROM organization_member m WHERE m.org_id = o.id), o.created_at, o.closed_at
		FROM organization o
		ORDER BY o.id`)
	return list, database.Wrap(err, "list the organizations")
}
