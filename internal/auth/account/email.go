package account

import (
	"context"
	"fmt"
	"time"

	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
)

const (
	changeLife     = time.Hour
	changeAttempts = 5 // wrong pairs of codes that a change survives
	changesPerHour = 5 // of one person, and to one address
	changeDigits   = 8 // of each code
)

// BeginEmailChange mails a code to the caller's address and one to the new address. The answer does not reveal whether
// the new address has an account.
func (s *Service) BeginEmailChange(
	ctx context.Context, p principal.Principal, address string, password secret.Text,
) error {
	if err := s.Auth.RequireMail(ctx); err != nil {
		return err
	}
	address, err := email.Normalise(address)
	if err != nil {
		return err
	}
	hash, err := s.Auth.CheckOwnPassword(ctx, p, "password", password)
	if err != nil {
		return err
	}
	var w wish
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		w, err = s.wishFor(ctx, tx, p, hash, address)
		return err
	})
	if err != nil {
		return err
	}
	s.Auth.Send(ctx, s.oldMail(w.from, address, w.oldCode))
	if w.taken {
		s.Auth.Send(ctx, s.takenMail(address))
	} else {
		s.Auth.Send(ctx, s.newMail(address, w.newCode))
	}
	return nil
}

// wish is a change of address that was just stored.
type wish struct {
	from             string
	oldCode, newCode secret.Text
	taken            bool // the address has an account
}

func (s *Service) wishFor(
	ctx context.Context, tx *database.Tx, p principal.Principal, hash, address string,
) (w wish, err error) {
	if err := auth.RequireLive(ctx, tx, p); err != nil {
		return wish{}, err
	}
	user, err := auth.StillHas(ctx, tx, p.UserID, hash)
	if err != nil {
		return wish{}, err
	}
	if user.Email == address {
		return wish{}, fault.Field("email", "is your address already")
	}
	w = wish{from: user.Email, oldCode: secret.Digits(changeDigits), newCode: secret.Digits(changeDigits)}
	if w.taken, err = auth.AddressTaken(ctx, tx, address); err != nil {
		return wish{}, err
	}
	return w, s.storeChange(ctx, tx, p, storedChange{
		id:       database.NewID(),
		oldEmail: user.Email,
		newEmail: address,
		oldHash:  codeHash(p.UserID, user.Email, w.oldCode.Reveal()),
		newHash:  codeHash(p.UserID, address, w.newCode.Reveal()),
	})
}

// codeHash binds a code to its person and address.
func codeHash(userID, address, code string) []byte {
	return secret.Hash(userID + "\x00" + address + "\x00" + code)
}

// storeChange stores a change in place of earlier ones, unless there were too many.
func (s *Service) storeChange(
	ctx context.Context, tx *database.Tx, p principal.Principal, c storedChange,
) error {
	mine, theirs, err := countChanges(ctx, tx, p.UserID, c.newEmail, tx.Now().Add(-time.Hour))
	if err != nil {
		return err
	}
	if mine >= changesPerHour || theirs >= changesPerHour {
		refused := fault.New(fault.TooMany, "too many changes of address were begun; try again in an hour")
		refused.RetryAfter = time.Hour
		return refused
	}
	if err := endChanges(ctx, tx, p.UserID); err != nil {
		return err
	}
	if err := insertChange(ctx, tx, p.UserID, c, tx.Now().Add(changeLife)); err != nil {
		return err
	}
	return s.record(ctx, tx, p, "email.change_requested", nil)
}

// ConfirmEmailChange changes the address, if both codes are right. Other sessions end, and both addresses are told.
func (s *Service) ConfirmEmailChange(ctx context.Context, p principal.Principal, oldCode, newCode string) error {
	var done storedChange
	err := s.change(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		done = storedChange{}
		if err := auth.RequireLive(ctx, tx, p); err != nil {
			return err
		}
		c, err := findChange(ctx, tx, p.UserID)
		if err != nil || c.id == "" || c.attempts >= changeAttempts {
			return err
		}
		oldRight := secret.SameHash(c.oldHash, codeHash(p.UserID, c.oldEmail, oldCode))
		newRight := secret.SameHash(c.newHash, codeHash(p.UserID, c.newEmail, newCode))
		if !oldRight || !newRight {
			return countAttempt(ctx, tx, c.id) // no error, so that it is committed
		}
		if err := s.applyChange(ctx, tx, p, c); err != nil {
			return err
		}
		done = c
		return nil
	})
	if err != nil {
		return err
	}
	if done.id == "" {
		return fault.New(fault.Invalid,
			"one of the codes is wrong, or they have expired; enter both again, or begin anew")
	}
	for _, address := range []string{done.oldEmail, done.newEmail} {
		s.Auth.Send(ctx, s.changedMail(address, done))
	}
	return nil
}

func (s *Service) applyChange(ctx context.Context, tx *database.Tx, p principal.Principal, c storedChange) error {
	if err := endChanges(ctx, tx, p.UserID); err != nil {
		return err
	}
	if err := auth.ReplaceEmail(ctx, tx, p.UserID, c.newEmail, p.SessionID); err != nil {
		return err
	}
	return s.record(ctx, tx, p, "email.changed", map[string]any{"from": c.oldEmail, "to": c.newEmail})
}

func (s *Service) oldMail(to, next string, code secret.Text) mail.Message {
	return mail.Message{
		To: to, Subject: "Change the address of your Writ account",
		Text: fmt.Sprintf("Somebody who is signed in to your account at %s wants its address to be %s.\n\n"+
			"Your code for the present address is %s. It is valid for %d minutes, together with the one that\n"+
			"was mailed to the new address.\n\nIf this was not you, change your password: somebody else is signed in.\n",
			s.PublicURL, next, code.Reveal(), int(changeLife.Minutes())),
	}
}

func (s *Service) newMail(to string, code secret.Text) mail.Message {
	return mail.Message{
		To: to, Subject: "Confirm your new address for Writ",
		Text: fmt.Sprintf("Your code for the new address is %s. It is valid for %d minutes, together with the one\n"+
			"that was mailed to the present address.\n\n"+
			"If you have no account at %s, ignore this e-mail.\n",
			code.Reveal(), int(changeLife.Minutes()), s.PublicURL),
	}
}

func (s *Service) takenMail(to string) mail.Message {
	return mail.Message{
		To: to, Subject: "You already have a Writ account",
		Text: fmt.Sprintf("Somebody wanted this address for another account at %s. It has an account already, so that\n"+
			"nothing changes. If it was you, delete one of the two accounts first.\n", s.PublicURL),
	}
}

func (s *Service) changedMail(to string, c storedChange) mail.Message {
	return mail.Message{
		To: to, Subject: "The address of your Writ account was changed",
		Text: fmt.Sprintf("The account at %s that had the address %s has the address %s now. Its other sessions have\n"+
			"ended.\n\nIf this was not you, tell the people who run this server at once.\n",
			s.PublicURL, c.oldEmail, c.newEmail),
	}
}
