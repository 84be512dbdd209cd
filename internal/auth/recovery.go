package auth

import (
	"cmp"
	"context"
	"fmt"

	"writ/internal/auth/secondfactor"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
)

// ChangePassword replaces the caller's password and ends their other sessions.
func (s *Service) ChangePassword(ctx context.Context, p principal.Principal, current, next secret.Text) error {
	user, hash, err := findUser(ctx, s.db, p.UserID)
	if err != nil {
		return fmt.Errorf("change a password: %w", err)
	}
	if err := CheckPassword("newPassword", next.Reveal(), user.Email); err != nil {
		return err
	}
	matches, err := s.passwords.Matches(ctx, current.Reveal(), hash)
	if err != nil {
		return err
	}
	if !matches {
		return fault.Field("currentPassword", "is wrong")
	}
	newHash, err := s.passwords.Hash(ctx, next.Reveal())
	if err != nil {
		return err
	}
	return s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		// Only if it is still the password that was checked: of two changes at once one wins.
		if changed, err := replacePassword(ctx, tx, user.ID, hash, newHash); err != nil || !changed {
			return cmp.Or[error](err, fault.New(fault.Conflict, "the password was changed meanwhile"))
		}
		if err := EndOtherSessions(ctx, tx, user.ID, p.SessionID); err != nil {
			return err
		}
		if err := endCodes(ctx, tx, user.ID, purposeReset); err != nil {
			return err
		}
		_, err := s.log.Append(ctx, tx, userEntry("password.changed", p, user.ID, nil))
		return err
	})
}

// ForgotPassword mails a link that sets a new password. Its answer does not reveal
// whether there is such an account.
func (s *Service) ForgotPassword(ctx context.Context, address string) error {
	return s.mailCode(ctx, address, func(ctx context.Context, tx *database.Tx, user User) (secret.Text, error) {
		token, err := newCode(ctx, tx, user.ID, purposeReset)
		if err != nil || !token.IsSet() {
			return token, err
		}
		_, err = s.log.Append(ctx, tx, userEntry("password.reset_requested", as(user.ID), user.ID, nil))
		return token, err
	}, s.resetMail)
}

func (s *Service) resetMail(address string, token secret.Text) mail.Message {
	return mail.Message{
		To:      address,
		Subject: "Reset your Writ password",
		Text: fmt.Sprintf("Open this link within %d minutes to set a new password:\n\n"+
			"%s/ui/reset-password?token=%s\n\n"+
			"If you did not ask for this, ignore this e-mail. Your password has not changed.\n",
			int(resetLife.Minutes()), s.publicURL, token.Reveal()),
	}
}

// ResetPassword sets a new password with the token of a mailed link, once, and
// ends every session. Using the link also verifies the address.
func (s *Service) ResetPassword(ctx context.Context, token, next secret.Text) error {
	var invalid error = fault.Field("token", "is wrong, used or expired; ask for a new link")
	code, err := findCodeByHash(ctx, s.db, secret.Hash(token.Reveal()), purposeReset)
	if err != nil {
		return fmt.Errorf("reset a password: %w", err)
	}
	if code.ID == "" {
		return invalid
	}
	user, _, err := findUser(ctx, s.db, code.UserID)
	if err != nil {
		return fmt.Errorf("reset a password: %w", err)
	}
	if err := CheckPassword("newPassword", next.Reveal(), user.Email); err != nil {
		return err
	}
	hash, err := s.passwords.Hash(ctx, next.Reveal())
	if err != nil {
		return err
	}
	return s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		// Read again: of two resets at once only the first finds a live code.
		live, err := findCodeByHash(ctx, tx, code.Hash, purposeReset)
		if err != nil || live.ID == "" {
			return cmp.Or(err, invalid)
		}
		return s.applyReset(ctx, tx, live, hash)
	})
}

func (s *Service) applyReset(ctx context.Context, tx *database.Tx, code storedCode, hash string) error {
	if err := useCode(ctx, tx, code.ID); err != nil {
		return err
	}
	return s.giveAccount(ctx, tx, as(code.UserID), code.UserID, hash)
}

// SetPassword gives an account another password, where no mail can: by a command on the server, for somebody who has
// forgotten theirs. It ends what a link by mail ends.
func (s *Service) SetPassword(ctx context.Context, p principal.Principal, userID string, next secret.Text) error {
	if p.Kind != principal.System {
		return fault.New(fault.Forbidden, "only the operator sets the password of somebody else")
	}
	user, _, err := findUser(ctx, s.db, userID)
	if err != nil {
		return fmt.Errorf("set a password: %w", err)
	}
	if err := CheckPassword("password", next.Reveal(), user.Email); err != nil {
		return err
	}
	hash, err := s.passwords.Hash(ctx, next.Reveal())
	if err != nil {
		return err
	}
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		if err := endCodes(ctx, tx, userID, purposeReset); err != nil {
			return err
		}
		return s.giveAccount(ctx, tx, p, userID, hash)
	})
	if err == nil {
		s.notify(ctx, userID, "The password of your Writ account was set",
			"Whoever runs the server has set another password. Your sessions and terminals are signed out.")
	}
	return err
}

// giveAccount leaves an account to whoever has the new password, and to nobody who had access before.
func (s *Service) giveAccount(
	ctx context.Context, tx *database.Tx, by principal.Principal, userID, hash string,
) error {
	if err := setPassword(ctx, tx, userID, hash); err != nil {
		return err
	}
	if err := markVerified(ctx, tx, userID); err != nil {
		return err
	}
	if err := endCodes(ctx, tx, userID, purposeVerify); err != nil {
		return err
	}
	if err := EndOtherSessions(ctx, tx, userID, ""); err != nil {
		return err
	}
	if err := unlinkOthers(ctx, tx, userID); err != nil {
		return err
	}
	// One that somebody added whom an organization's provider vouched for goes like the identity that did.
	if _, err := secondfactor.RemoveVouched(ctx, tx, userID); err != nil {
		return err
	}
	_, err := s.log.Append(ctx, tx, userEntry("password.reset", by, userID, nil))
	return err
}
