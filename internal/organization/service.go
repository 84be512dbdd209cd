package organization

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/principal"
)

// Service manages organizations, members and invitations.
type Service struct {
	db        *database.DB
	log       *audit.Log
	sender    mail.Sender
	publicURL string // without a slash at its end
	seatLimit SeatLimit
}

// New makes a Service. The links it mails begin with publicURL. Without a limit of seats nothing is limited.
func New(db *database.DB, log *audit.Log, sender mail.Sender, publicURL string, seats SeatLimit) *Service {
	return &Service{
		db:        db,
		log:       log,
		sender:    sender,
		publicURL: strings.TrimRight(publicURL, "/"),
		seatLimit: seats,
	}
}

// Create makes an organization with the caller, a person, as its owner.
func (s *Service) Create(ctx context.Context, p principal.Principal, name string) (Organization, error) {
	if p.Kind != principal.User {
		return Organization{}, fault.New(fault.Forbidden, "only a person can create an organization")
	}
	name, err := cleanName(name)
	if err != nil {
		return Organization{}, err
	}
	return s.create(ctx, p, name)
}

func (s *Service) create(ctx context.Context, p principal.Principal, name string) (created Organization, err error) {
	id := database.NewID()
	err = s.db.Write(ctx, database.Change{
		Logs: []string{id, audit.System},
		Do: func(ctx context.Context, tx *database.Tx) error {
			n, err := countMemberships(ctx, tx, p.UserID)
			if err != nil {
				return err
			}
			if n >= maxMemberships {
				return fault.New(fault.Conflict, "you belong to %d organizations already; leave one to create another",
					n)
			}
			if isDemo(name) {
				if err := refuseSecondDemo(ctx, tx, p.UserID); err != nil {
					return err
				}
			}
			created, err = s.add(ctx, tx, p, id, p.UserID, name)
			return err
		},
	})
	return created, err
}

// Add makes an organization with its owner within the caller's change, which chose
// the id (database.NewID) and declared the log of that name and System. It checks the
// name, but no right of the actor.
func (s *Service) Add(
	ctx context.Context, tx *database.Tx, actor principal.Principal, id, ownerID, name string,
) (Organization, error) {
	name, err := cleanName(name)
	if err != nil {
		return Organization{}, err
	}
	return s.add(ctx, tx, actor, id, ownerID, name)
}

func (s *Service) add(
	ctx context.Context, tx *database.Tx, actor principal.Principal, id, ownerID, name string,
) (Organization, error) {
	o := Organization{ID: id, Name: name, CreatedAt: tx.Now()}
	if err := insertOrganization(ctx, tx, o); err != nil {
		return Organization{}, err
	}
	if err := s.log.Begin(ctx, tx, actor, id); err != nil {
		return Organization{}, err
	}
	if err := s.record(ctx, tx, actor, id, "organization.created", about("organization", id), map[string]any{
		"name": name,
	}); err != nil {
		return Organization{}, err
	}
	return o, s.Join(ctx, tx, actor, id, ownerID, principal.Owner)
}

// ListForUser lists the open organizations of a person, by name, then id.
func (s *Service) ListForUser(ctx context.Context, userID string) ([]Membership, error) {
	list, err := membershipsOf(ctx, s.db, userID)
	if err != nil {
		return nil, err
	}
	// Not in SQL: the databases sort letters differently.
	slices.SortFunc(list, func(a, b Membership) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// RoleOf is the role of a person in an open organization. Without one it is a
// Forbidden fault, whether the organization exists or not.
func (s *Service) RoleOf(ctx context.Context, orgID, userID string) (principal.Role, error) {
	return RoleIn(ctx, s.db.Prepared(), orgID, userID)
}

// Get reads the caller's organization.
func (s *Service) Get(ctx context.Context, p principal.Principal) (Membership, error) {
	if err := p.Require(principal.ReadOrganization); err != nil {
		return Membership{}, err
	}
	return findMembership(ctx, s.db, p.OrgID, p.Role)
}

// Rename gives the organization another name.
func (s *Service) Rename(ctx context.Context, p principal.Principal, name string) (Membership, error) {
	name, err := cleanName(name)
	if err != nil {
		return Membership{}, err
	}
	var renamed Membership
	err = s.change(ctx, p, principal.UpdateOrganization, func(
		ctx context.Context, tx *database.Tx, p principal.Principal,
	) error {
		m, err := findMembership(ctx, tx, p.OrgID, p.Role)
		if err != nil {
			return err
		}
		renamed = m
		if m.IsDemo() {
			return fault.New(fault.Conflict, "demo data keeps its name, so that nobody takes it for real")
		}
		renamed.Name = name
		if m.Name == name {
			return nil
		}
		if err := updateName(ctx, tx, p.OrgID, name); err != nil {
			return err
		}
		return s.record(ctx, tx, p, p.OrgID, "organization.renamed", about("organization", p.OrgID),
			map[string]any{"from": m.Name, "to": name})
	})
	return renamed, err
}

// Close ends the organization for all its members, with its open invitations.
func (s *Service) Close(ctx context.Context, p principal.Principal) error {
	return s.change(ctx, p, principal.CloseOrganization, func(
		ctx context.Context, tx *database.Tx, p principal.Principal,
	) error {
		if err := updateClosed(ctx, tx, p.OrgID); err != nil {
			return err
		}
		invites, err := withdrawInvites(ctx, tx, p.OrgID)
		if err != nil {
			return err
		}
		return s.record(ctx, tx, p, p.OrgID, "organization.closed", about("organization", p.OrgID),
			map[string]any{"withdrawnInvites": invites})
	})
}

// change makes a change to the caller's organization. It requires the right to the
// action twice: of the role the edge saw, so that a refusal takes no time of the
// writer, and of the present role, under the organization's lock. Do gets the
// principal with the present role.
func (s *Service) change(ctx context.Context, p principal.Principal, action principal.Action,
	do func(ctx context.Context, tx *database.Tx, p principal.Principal) error) error {
	if err := p.Require(action); err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{
		Logs: []string{p.OrgID},
		Do: func(ctx context.Context, tx *database.Tx) error {
			now, err := withCurrentRole(ctx, tx, p)
			if err != nil {
				return err
			}
			if err := now.Require(action); err != nil {
				return err
			}
			return do(ctx, tx, now)
		},
	})
}

// withCurrentRole is the principal with the present role in an open organization.
// The operator needs no role.
func withCurrentRole(ctx context.Context, r database.Reader, p principal.Principal) (principal.Principal, error) {
	var err error
	if p.Kind == principal.System {
		_, err = findMembership(ctx, r, p.OrgID, p.Role)
	} else {
		p.Role, err = RoleIn(ctx, r, p.OrgID, p.UserID)
	}
	return p, err
}

func about(kind, id string) audit.Subject { return audit.Subject{Type: kind, ID: id} }

// record appends to the organization's log.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, action string, subject audit.Subject,
	payload any,
) error {
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:     orgID,
		Action:  action,
		Actor:   actor,
		Subject: subject,
		Payload: payload,
	})
	return err
}
