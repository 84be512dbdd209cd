package auth

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"writ/internal/auth/secondfactor"
	"writ/internal/auth/totp"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Enrolment is the secret of a new second factor, which its owner gives to an app.
type Enrolment struct {
	Secret secret.Text // as people type it
	URI    secret.Text // as an app reads it from a picture
}

// SecondFactor is what the caller has.
func (s *Service) SecondFactor(ctx context.Context, p principal.Principal) (secondfactor.Status, error) {
	return secondfactor.StatusOf(ctx, s.db, p.UserID)
}

// Enrolled reports whether a person has a second factor.
func (s *Service) Enrolled(ctx context.Context, userID string) (bool, error) {
	status, err := secondfactor.StatusOf(ctx, s.db, userID)
	return status.Enrolled, err
}

// AddSecondFactor makes a secret, which counts once a code of it is entered. It asks for the password: whoever found an
// open browser must not lock out its owner. For the same reason an organization's identity provider does not vouch for
// it, unless nothing else leads to the account.
func (s *Service) AddSecondFactor(ctx context.Context, p principal.Principal, password secret.Text) (Enrolment, error) {
	user, hash, err := findUser(ctx, s.db, p.UserID)
	if err != nil {
		return Enrolment{}, fmt.Errorf("add a second factor: %w", err)
	}
	switch {
	case hash != "" && p.LimitedTo != "":
		return Enrolment{}, fault.New(fault.Forbidden,
			"you signed in with an organization's identity provider; sign in with your password to add a second factor")
	case hash == "" && p.LimitedTo == "":
		return Enrolment{}, fault.New(fault.Forbidden,
			"your account has no password yet: set one with the link of \"forgot password\", which shows that the "+
				"address is yours, and add the second factor then")
	}
	if err := s.checkOwn(ctx, "password", password, hash); err != nil {
		return Enrolment{}, err
	}
	var key []byte
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		if err := RequireLive(ctx, tx, p); err != nil {
			return err
		}
		if err := refuseVouched(ctx, tx, p); err != nil {
			return err
		}
		if key, err = s.factors.Begin(ctx, tx, p.UserID, p.LimitedTo); err != nil {
			return err
		}
		_, err = s.log.Append(ctx, tx, userEntry("second_factor.begun", p, p.UserID, nil))
		return err
	})
	if err != nil {
		return Enrolment{}, err
	}
	return Enrolment{
		Secret: secret.NewText(totp.Text(key)),
		URI:    secret.NewText(totp.URI(key, s.issuer(), user.Email)),
	}, nil
}

// refuseVouched refuses a limited session where another provider leads to the account too: the factor would be asked
// for wherever its owner goes, and adding it ends their other sessions.
func refuseVouched(ctx context.Context, tx *database.Tx, p principal.Principal) error {
	if p.LimitedTo == "" {
		return nil
	}
	others, err := countIdentitiesElsewhere(ctx, tx, p.UserID, p.LimitedTo)
	if err == nil && others > 0 {
		return fault.New(fault.Forbidden,
			"you also sign in with another identity provider: set a password with the link of \"forgot password\", which "+
				"shows that the address is yours, and add the second factor then")
	}
	return err
}

// issuer names this server in people's apps.
func (s *Service) issuer() string {
	if u, err := url.Parse(s.publicURL); err == nil && u.Hostname() != "" {
		return "Writ (" + u.Hostname() + ")"
	}
	return "Writ"
}

// checkOwn refuses a wrong password of the caller. An account without one has nothing to ask for.
func (s *Service) checkOwn(ctx context.Context, field string, password secret.Text, hash string) error {
	if hash == "" {
		return nil
	}
	matches, err := s.passwords.Matches(ctx, password.Reveal(), hash)
	if err == nil && !matches {
		return fault.Field(field, "is wrong")
	}
	return err
}

// wrongCode refuses a code of a second factor.
func wrongCode() error {
	return fault.Field("code", "is wrong, or was used before; wait for the next one")
}

// ConfirmSecondFactor has the secret count from now on, ends the other sessions and the terminals of its owner, and
// gives the recovery codes, which are never shown again.
func (s *Service) ConfirmSecondFactor(
	ctx context.Context, p principal.Principal, code string,
) (codes []secret.Text, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		if err := RequireLive(ctx, tx, p); err != nil {
			return err
		}
		if codes, err = s.factors.Confirm(ctx, tx, p.UserID, code); err != nil || codes == nil {
			return err // nil after a wrong code, so that its count is committed
		}
		// Sessions and terminals from before have proved nothing.
		if err := EndOtherSessions(ctx, tx, p.UserID, p.SessionID); err != nil {
			return err
		}
		if err := markProved(ctx, tx, p.SessionID, tx.Now()); err != nil {
			return err
		}
		_, err = s.log.Append(ctx, tx, userEntry("second_factor.added", p, p.UserID, nil))
		return err
	})
	if err == nil && codes == nil {
		err = wrongCode()
	}
	if err != nil {
		return nil, err
	}
	s.notify(ctx, p.UserID, "A second factor was added to your Writ account",
		"From now on, signing in with your password asks for a code of your app as well.")
	return codes, nil
}

// Prove notes in the caller's session that they have proved their second factor just now.
func (s *Service) Prove(ctx context.Context, p principal.Principal, code string) error {
	var used secondfactor.Used
	err := s.change(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		used = secondfactor.Used{}
		if err := RequireLive(ctx, tx, p); err != nil {
			return err
		}
		status, err := secondfactor.StatusOf(ctx, tx, p.UserID)
		if err != nil {
			return err
		}
		if !status.Enrolled {
			return fault.New(fault.Conflict, "you have no second factor; add one first")
		}
		if used, err = s.useFactor(ctx, tx, p, p.UserID, code); err != nil || !used.Accepted {
			return err // nil after a wrong code, so that its count is committed
		}
		if err := markProved(ctx, tx, p.SessionID, tx.Now()); err != nil {
			return err
		}
		_, err = s.log.Append(ctx, tx, userEntry("second_factor.proved", p, p.UserID,
			map[string]any{"session": p.SessionID}))
		return err
	})
	if err == nil {
		s.notifyLocked(ctx, p.UserID, used)
	}
	if err == nil && !used.Accepted {
		return wrongCode()
	}
	return err
}

// useFactor tries a code of a person, and records when a wrong one has locked their factor: whoever tried knew the
// password, or has a session.
func (s *Service) useFactor(
	ctx context.Context, tx *database.Tx, actor principal.Principal, userID, code string,
) (secondfactor.Used, error) {
	used, err := s.factors.Use(ctx, tx, userID, code)
	if err == nil && !used.LockedUntil.IsZero() {
		_, err = s.log.Append(ctx, tx, userEntry("second_factor.locked", actor, userID,
			map[string]any{"until": used.LockedUntil.UTC().Format(time.RFC3339)}))
	}
	return used, err
}

// notifyLocked tells a person that wrong codes have locked their second factor, if they have.
func (s *Service) notifyLocked(ctx context.Context, userID string, used secondfactor.Used) {
	if used.LockedUntil.IsZero() {
		return
	}
	until := used.LockedUntil.UTC().Format("2006-01-02 15:04")
	s.notify(ctx, userID, "The second factor of your Writ account is locked",
		"Ten wrong codes were entered by somebody who knows your password or has a session of yours. Until "+until+
			" (UTC) no code of your app is taken; a recovery code still works.")
}

// RenewRecoveryCodes gives new recovery codes; the old ones no longer work.
func (s *Service) RenewRecoveryCodes(ctx context.Context, p principal.Principal) (codes []secret.Text, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		if err := RequireLive(ctx, tx, p); err != nil {
			return err
		}
		if codes, err = s.factors.Renew(ctx, tx, p.UserID); err != nil {
			return err
		}
		_, err = s.log.Append(ctx, tx, userEntry("second_factor.codes_renewed", p, p.UserID, nil))
		return err
	})
	return codes, err
}

// RemoveSecondFactor removes the second factor of a person: their own, or by a command on the server that of somebody
// who lost everything.
func (s *Service) RemoveSecondFactor(ctx context.Context, p principal.Principal, userID string) error {
	if p.Kind != principal.System && p.UserID != userID {
		return fault.New(fault.Forbidden, "only its owner removes a second factor")
	}
	err := s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		status, err := secondfactor.StatusOf(ctx, tx, userID)
		if err != nil {
			return err
		}
		if !status.Enrolled {
			return fault.New(fault.Conflict, "there is no second factor")
		}
		if err := secondfactor.Remove(ctx, tx, userID); err != nil {
			return err
		}
		if err := forgetProofs(ctx, tx, userID); err != nil {
			return err
		}
		_, err = s.log.Append(ctx, tx, userEntry("second_factor.removed", p, userID, nil))
		return err
	})
	if err == nil {
		s.notify(ctx, userID, "The second factor of your Writ account was removed",
			"Signing in now asks for your password alone.")
	}
	return err
}

// notify tells a person of a change of their account, also if whoever made it has hung up. The change is done, so that
// a mail which cannot be sent is no error; the sender logs it.
func (s *Service) notify(ctx context.Context, userID, subject, text string) {
	ctx = context.WithoutCancel(ctx)
	user, _, err := findUser(ctx, s.db, userID)
	if err != nil {
		return
	}
	_ = s.mail.Send(ctx, mail.Message{
		To: user.Email, Subject: subject,
		Text: text + "\n\nIf this was not you, reset your password at " + s.publicURL +
			"/ui/ and tell the people who run this server.\n",
	})
}

func markProved(ctx context.Context, tx *database.Tx, sessionID string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE user_session SET proved_at = $2 WHERE id = $1`, sessionID, database.Micros(at))
	return database.Wrap(err, "note a proof in session %s", sessionID)
}

// forgetProofs makes the sessions of a person ones that proved nothing.
func forgetProofs(ctx context.Context, tx *database.Tx, userID string) error {
	_, err := tx.Exec(ctx, `UPDATE user_session SET proved_at = NULL WHERE user_id = $1`, userID)
	if err == nil { // terminals that were approved and not collected
		_, err = tx.Exec(ctx, `UPDATE device_login SET proved_at = NULL WHERE user_id = $1`, userID)
	}
	return database.Wrap(err, "forget the proofs of %s", userID)
}
