package auth

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
)

// What follows is for package account, which changes whole accounts within changes of its own.

// CheckOwnPassword refuses a wrong password of the caller with a fault about the field. It gives the hash that was
// checked, for StillHas; empty: the account has no password, and nothing was checked.
func (s *Service) CheckOwnPassword(
	ctx context.Context, p principal.Principal, field string, password secret.Text,
) (hash string, err error) {
	if _, hash, err = findUser(ctx, s.db, p.UserID); err != nil {
		return "", err
	}
	return hash, s.checkOwn(ctx, field, password, hash)
}

// StillHas refuses a change if the password is no longer the one that was checked.
func StillHas(ctx context.Context, tx *database.Tx, userID, hash string) (User, error) {
	user, present, err := findUser(ctx, tx, userID)
	if err == nil && present != hash {
		err = fault.New(fault.Conflict, "the password was changed meanwhile")
	}
	return user, err
}

// RequireMail fails where mail cannot be sent.
func (s *Service) RequireMail(ctx context.Context) error { return s.requireMail(ctx) }

// Send mails something about an account whose change is done; the sender logs what fails.
func (s *Service) Send(ctx context.Context, m mail.Message) { _ = s.mail.Send(ctx, m) }

// ReplaceEmail gives an account another address, ends the codes that were mailed to the old one, and every session but
// one.
func ReplaceEmail(ctx context.Context, tx *database.Tx, userID, address, exceptSession string) error {
	_, err := tx.Exec(ctx, `UPDATE user_account SET email = $2 WHERE id = $1`, userID, address)
	if database.IsUnique(err) {
		return fault.Wrap(err, fault.Conflict, "an account with this e-mail address exists already")
	}
	if err != nil {
		return fmt.Errorf("change the address of %s: %w", userID, err)
	}
	for _, p := range []purpose{purposeReset, purposeVerify} {
		if err := endCodes(ctx, tx, userID, p); err != nil {
			return err
		}
	}
	return EndOtherSessions(ctx, tx, userID, exceptSession)
}

// Pseudonym is what stands in place of the address of a deleted account. It is no address, so that nobody can
// register it and nothing is mailed to it.
func Pseudonym(userID string) string { return "deleted:" + userID }

// Erase takes everything from an account that tells who it was or lets anybody in. The row stays, because keys and
// logs name its id.
func Erase(ctx context.Context, tx *database.Tx, userID string) error {
	for _, table := range []string{
		"user_session", "mail_code", "sign_in_code", "login_challenge", "device_login", "external_identity",
		"email_change", "second_factor", "user_preference",
	} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE user_id = $1`, userID); err != nil {
			return fmt.Errorf("erase the account %s: %w", userID, err)
		}
	}
	_, err := tx.Exec(ctx, `
		UPDATE user_account
		SET email = $2, name = '', password_hash = '', verified_at = NULL, locale = '', time_zone = '', deleted_at = $3
		WHERE id = $1`, userID, Pseudonym(userID), database.Micros(tx.Now()))
	return database.Wrap(err, "erase the account %s", userID)
}

// DeletedAccounts is a query for the ids of accounts that were deleted.
const DeletedAccounts = `SELECT id FROM user_account WHERE deleted_at IS NOT NULL ORDER BY id`
