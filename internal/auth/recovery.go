package auth

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/email"
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
		// Only if it is still the one that was checked: of two changes at once one wins.
		if changed, err := replacePassword(ctx, tx, user.ID, hash, newHash); err != nil || !changed {
			return orConflict(err, "the password was changed meanwhile")
		}
		if err := turnOut(ctx, tx, user.ID, p.SessionID); err != nil {
			return err
		}
		if err := endCodes(ctx, tx, user.ID, purposeReset); err != nil {
			return err
		}
		_, err := s.log.Append(ctx, tx, userEntry("password.changed", p, user.ID, nil))
		return err
	})
}

func orConflict(err error, message string) error {
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "%s", message)
}

// ForgotPassword mails a link that sets a new password. It never says whether
// there is such an account.
func (s *Service) ForgotPassword(ctx context.Context, address string) error {
	if err := s.requireMail(ctx); err != nil {
		return err
	}
	address, err := email.Normalise(address)
	if err != nil {
		return err
	}
	var token secret.Text
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		token = secret.Text{}
		user, _, err := findUserByEmail(ctx, tx, address)
		if err != nil || user.ID == "" {
			return err
		}
		if token, err = newCode(ctx, tx, user.ID, purposeReset); err != nil || !token.IsSet() {
			return err
		}
		_, err = s.log.Append(ctx, tx, userEntry("password.reset_requested", as(user.ID), user.ID, nil))
		return err
	})
	if err != nil {
		return fmt.Errorf("send a reset link: %w", err)
	}
	if !token.IsSet() {
		return nil
	}
	s.sendQuietly(ctx, mail.Message{
		To:      address,
		Subject: "Set a new Writ password",
		Text: fmt.Sprintf("Set a new password within %d minutes:\n\n%s/ui/reset-password?token=%s\n\n"+
			"If you did not ask for it, ignore this mail: your password stays as it is.\n",
			int(resetLife.Minutes()), s.publicURL, token.Reveal()),
	})
	return nil
}

// sendQuietly sends a mail that only those with an account get. Whether it went
// out must not show in the answer, which is the same for everyone; the sender
// logs what it refuses.
func (s *Service) sendQuietly(ctx context.Context, m mail.Message) { _ = s.mail.Send(ctx, m) }

// ResetPassword sets a new password with the token of a mailed link, once, and
// ends every session. The link also proves the address.
func (s *Service) ResetPassword(ctx context.Context, token, next secret.Text) error {
	invalid := fault.Field("token", "is wrong, used or expired; ask for a new link")
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
			return orInvalid(err, invalid)
		}
		return s.applyReset(ctx, tx, live, hash)
	})
}

func orInvalid(err error, invalid *fault.Error) error {
	if err != nil {
		return err
	}
	return invalid
}

func (s *Service) applyReset(ctx context.Context, tx *database.Tx, code storedCode, hash string) error {
	if err := useCode(ctx, tx, code.ID); err != nil {
		return err
	}
	if err := setPassword(ctx, tx, code.UserID, hash); err != nil {
		return err
	}
	if err := markVerified(ctx, tx, code.UserID); err != nil {
		return err
	}
	if err := endCodes(ctx, tx, code.UserID, purposeVerify); err != nil {
		return err
	}
	if err := turnOut(ctx, tx, code.UserID, ""); err != nil {
		return err
	}
	if err := forgetVouchers(ctx, tx, code.UserID); err != nil {
		return err
	}
	_, err := s.log.Append(ctx, tx, userEntry("password.reset", as(code.UserID), code.UserID, nil))
	return err
}
