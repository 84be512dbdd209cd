package organization

import (
	"context"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Invite mails a person an invitation, and withdraws an open one to the same person.
// If the mail cannot be sent, the new one is withdrawn too.
func (s *Service) Invite(
	ctx context.Context, p principal.Principal, address string, role principal.Role,
) (Invite, error) {
	if err := checkRole(role); err != nil {
		return Invite{}, err
	}
	address, err := email.Normalise(address)
	if err != nil {
		return Invite{}, err
	}
	id, token := database.NewID(), secret.Token("inv_")
	var invite Invite
	var name string
	err = s.change(ctx, p, role.ManageRole(), func(ctx context.Context, tx *database.Tx, p principal.Principal) error {
		o, err := findMembership(ctx, tx, p.OrgID, p.Role)
		if err != nil {
			return err
		}
		name = o.Name
		invite = Invite{
			ID:        id,
			OrgID:     p.OrgID,
			Email:     address,
			Role:      role,
			InvitedBy: p.UserID,
			CreatedAt: tx.Now(),
			ExpiresAt: tx.Now().Add(inviteLifetime),
		}
		return s.openInvite(ctx, tx, p, invite, secret.Hash(token.Reveal()))
	})
	if err != nil {
		return Invite{}, err
	}
	if err := s.sender.Send(ctx, inviteMail(invite, name, s.publicURL, token)); err != nil {
		err = fmt.Errorf("mail invitation %s: %w", invite.ID, err)
		return Invite{}, errors.Join(err, s.withdrawUnsent(ctx, p, invite))
	}
	return invite, nil
}

// openInvite stores the invitation in place of an open one to the same person, which
// the caller must have the right to withdraw.
func (s *Service) openInvite(
	ctx context.Context, tx *database.Tx, p principal.Principal, invite Invite, tokenHash []byte,
) error {
	if _, err := findMemberByEmail(ctx, tx, invite.OrgID, invite.Email); err == nil {
		return fault.New(fault.Conflict, "this person is already a member of the organization")
	} else if !fault.Is(err, fault.NotFound) {
		return err
	}
	before, err := openInvitesTo(ctx, tx, invite.OrgID, invite.Email)
	if err != nil {
		return err
	}
	for _, old := range before {
		if err := s.withdraw(ctx, tx, p, old, "replaced"); err != nil {
			return err
		}
	}
	if err := checkInviteLimits(ctx, tx, invite); err != nil {
		return err
	}
	if err := s.checkSeat(ctx, tx, invite.OrgID, invite.Email); err != nil {
		return err
	}
	if err := insertInvite(ctx, tx, invite, tokenHash); err != nil {
		return err
	}
	return s.record(ctx, tx, p, invite.OrgID, "invite.created", about("invite", invite.ID),
		map[string]any{"email": invite.Email, "role": string(invite.Role)})
}

// checkInviteLimits keeps invitations from flooding a mailbox or our own mail queue.
func checkInviteLimits(ctx context.Context, tx *database.Tx, invite Invite) error {
	open, err := countOpenInvites(ctx, tx, invite.OrgID)
	if err != nil {
		return err
	}
	if open >= maxInvites {
		return fault.New(fault.Conflict, "the organization has %d open invitations; withdraw some first", open)
	}
	sent, err := countInvitesTo(ctx, tx, invite.Email, tx.Now().Add(-time.Hour))
	if err != nil {
		return err
	}
	if sent >= mailsPerHour {
		tooMany := fault.New(fault.TooMany, "this address was invited too often within the hour; try again later")
		tooMany.RetryAfter = time.Hour
		return tooMany
	}
	return nil
}

// withdrawUnsent withdraws an invitation whose mail was not sent, even if the caller
// has gone or has lost the right since. An invitation that has ended meanwhile stays
// as it is.
func (s *Service) withdrawUnsent(ctx context.Context, p principal.Principal, invite Invite) error {
	return s.db.Write(context.WithoutCancel(ctx), database.Change{
		Logs: []string{invite.OrgID},
		Do: func(ctx context.Context, tx *database.Tx) error {
			withdrawn, err := updateWithdrawn(ctx, tx, invite.OrgID, invite.ID)
			if err != nil || !withdrawn {
				return err
			}
			return s.recordWithdrawn(ctx, tx, p, invite, "not sent")
		},
	})
}

// Invites lists the invitations that can still be accepted, newest first.
func (s *Service) Invites(ctx context.Context, p principal.Principal) ([]Invite, error) {
	if err := p.Require(principal.ManageMembers); err != nil {
		return nil, err
	}
	return validInvites(ctx, s.db, p.OrgID, s.db.Now())
}

// Withdraw ends an open invitation of the organization.
func (s *Service) Withdraw(ctx context.Context, p principal.Principal, inviteID string) error {
	return s.change(ctx, p, principal.ManageMembers, func(
		ctx context.Context, tx *database.Tx, p principal.Principal,
	) error {
		invite, err := findOpenInvite(ctx, tx, p.OrgID, inviteID)
		if err != nil {
			return err
		}
		return s.withdraw(ctx, tx, p, invite, "by request")
	})
}

// withdraw ends an open invitation, if the caller may give its role.
func (s *Service) withdraw(
	ctx context.Context, tx *database.Tx, p principal.Principal, invite Invite, reason string,
) error {
	if err := p.Require(invite.Role.ManageRole()); err != nil {
		return err
	}
	if _, err := updateWithdrawn(ctx, tx, invite.OrgID, invite.ID); err != nil {
		return err
	}
	return s.recordWithdrawn(ctx, tx, p, invite, reason)
}

func (s *Service) recordWithdrawn(
	ctx context.Context, tx *database.Tx, p principal.Principal, invite Invite, reason string,
) error {
	return s.record(ctx, tx, p, invite.OrgID, "invite.withdrawn", about("invite", invite.ID),
		map[string]any{"email": invite.Email, "reason": reason})
}

// Invited is what the caller, a person, would join by an invitation, and what they would be there.
func (s *Service) Invited(ctx context.Context, p principal.Principal, userEmail, token string) (Membership, error) {
	invite, err := s.invitationFor(ctx, p, userEmail, token)
	if err != nil {
		return Membership{}, err
	}
	return findMembership(ctx, s.db, invite.OrgID, invite.Role)
}

// invitationFor finds the invitation of a token. The edge passes the caller's verified e-mail address: anyone else with
// the link is refused.
func (s *Service) invitationFor(
	ctx context.Context, p principal.Principal, userEmail, token string,
) (Invite, error) {
	if p.Kind != principal.User {
		return Invite{}, fault.New(fault.Forbidden, "only a person can accept an invitation")
	}
	userEmail, err := email.Normalise(userEmail)
	if err != nil {
		return Invite{}, err
	}
	invite, err := findValidInvite(ctx, s.db, secret.Hash(token), s.db.Now())
	if err != nil {
		return Invite{}, err
	}
	if invite.Email != userEmail {
		return Invite{}, fault.New(fault.Forbidden, "this invitation is for another e-mail address")
	}
	return invite, nil
}

// Accept makes the caller, a person, a member by an invitation for their verified e-mail address.
func (s *Service) Accept(ctx context.Context, p principal.Principal, userEmail, token string) (Membership, error) {
	// Read before the change, which must declare the log of the organization.
	invite, err := s.invitationFor(ctx, p, userEmail, token)
	if err != nil {
		return Membership{}, err
	}
	var joined Membership
	err = s.db.Write(ctx, database.Change{
		Logs: []string{invite.OrgID},
		Do: func(ctx context.Context, tx *database.Tx) (err error) {
			if err := s.accept(ctx, tx, p, invite); err != nil {
				return err
			}
			joined, err = findMembership(ctx, tx, invite.OrgID, invite.Role)
			return err
		},
	})
	return joined, err
}

// accept uses up the invitation, unless it ended since it was read. A fault rolls
// that back, and the invitation stays open.
func (s *Service) accept(ctx context.Context, tx *database.Tx, p principal.Principal, invite Invite) error {
	accepted, err := updateAccepted(ctx, tx, invite.OrgID, invite.ID)
	if err != nil {
		return err
	}
	if !accepted {
		return invalidInvite()
	}
	if err := checkInviter(ctx, tx, invite); err != nil {
		return err
	}
	if _, err := RoleIn(ctx, tx, invite.OrgID, p.UserID); err == nil {
		return fault.New(fault.Conflict, "you are already a member of this organization")
	} else if !fault.Is(err, fault.Forbidden) {
		return err
	}
	if err := s.record(ctx, tx, p, invite.OrgID, "invite.accepted", about("invite", invite.ID),
		map[string]any{"email": invite.Email, "role": string(invite.Role)}); err != nil {
		return err
	}
	return s.Join(ctx, tx, p, invite.OrgID, p.UserID, invite.Role)
}

// checkInviter refuses an invitation whose author may no longer give its role: a
// person who was removed or demoted must not come back through a friend.
func checkInviter(ctx context.Context, tx *database.Tx, invite Invite) error {
	if invite.InvitedBy == "" {
		return nil // by the operator
	}
	role, err := RoleIn(ctx, tx, invite.OrgID, invite.InvitedBy)
	if err != nil && !fault.Is(err, fault.Forbidden) {
		return err
	}
	if err != nil || !role.May(invite.Role.ManageRole()) {
		return invalidInvite()
	}
	return nil
}

// InvitedEmail is the e-mail address of a valid invitation. Sign-up needs it where
// only invited people may register.
func (s *Service) InvitedEmail(ctx context.Context, token string) (string, error) {
	invite, err := findValidInvite(ctx, s.db, secret.Hash(token), s.db.Now())
	return invite.Email, err
}
