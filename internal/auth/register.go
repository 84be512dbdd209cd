package auth

import (
	"context"
	"fmt"
	"strings"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
)

// NewUser is what a person gives to sign up.
type NewUser struct {
	Email    string
	Password secret.Text
	Name     string
}

func (n *NewUser) check() (err error) {
	if n.Email, err = email.Normalise(n.Email); err != nil {
		return err
	}
	if err := CheckPassword("password", n.Password.Reveal(), n.Email); err != nil {
		return err
	}
	n.Name = strings.TrimSpace(n.Name)
	return checkName(n.Name)
}

// Register makes an unverified account and mails it a code.
func (s *Service) Register(ctx context.Context, n NewUser) (User, error) {
	if err := s.requireMail(ctx); err != nil {
		return User{}, err
	}
	user, hash, err := s.Prepare(ctx, n)
	if err != nil {
		return User{}, err
	}
	var code secret.Text
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		user.VerifiedAt = nil
		if err := s.AddUser(ctx, tx, as(user.ID), &user, hash); err != nil {
			return err
		}
		code, err = newCode(ctx, tx, user.ID, purposeVerify)
		return err
	})
	if err != nil {
		return User{}, fmt.Errorf("register: %w", err)
	}
	return user, s.mail.Send(ctx, codeMail(user.Email, code))
}

// Prepare checks a new account and hashes its password, which is too slow for a
// transaction. AddUser stores what it gives.
func (s *Service) Prepare(ctx context.Context, n NewUser) (User, string, error) {
	if err := n.check(); err != nil {
		return User{}, "", err
	}
	hash, err := s.passwords.Hash(ctx, n.Password.Reveal())
	if err != nil {
		return User{}, "", err
	}
	return User{ID: database.NewID(), Email: n.Email, Name: n.Name}, hash, nil
}

// AddUser stores a prepared account in the caller's transaction, which declares
// the system log. Accounts made by the operator set VerifiedAt.
func (s *Service) AddUser(
	ctx context.Context, tx *database.Tx, actor principal.Principal, user *User, passwordHash string,
) error {
	user.CreatedAt = tx.Now()
	if err := insertUser(ctx, tx, *user, passwordHash); err != nil {
		if database.IsUnique(err) {
			return fault.Wrap(err, fault.Conflict,
				"an account with this e-mail address exists already; if it is yours, reset its password")
		}
		return fmt.Errorf("store the account: %w", err)
	}
	_, err := s.log.Append(ctx, tx, userEntry("user.registered", actor, user.ID,
		map[string]any{"email": user.Email, "verified": user.VerifiedAt != nil}))
	return err
}

// VerifyOTP confirms an address with the code that was mailed to it and the
// password the account was made with: the code alone would let the owner of the
// address activate an account that a stranger made in their name. Every failure
// looks the same.
func (s *Service) VerifyOTP(ctx context.Context, address, code string, password secret.Text) error {
	address, err := email.Normalise(address)
	if err != nil {
		return err
	}
	_, hash, err := findUserByEmail(ctx, s.db, address)
	if err != nil {
		return fmt.Errorf("verify an address: %w", err)
	}
	matches, err := s.passwords.Matches(ctx, password.Reveal(), hash)
	if err != nil {
		return err
	}
	if !matches {
		return refusedCode()
	}
	var verified bool
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		verified = false
		user, present, err := findUserByEmail(ctx, tx, address)
		if err != nil || user.ID == "" || present != hash {
			return err
		}
		if verified, err = useOTP(ctx, tx, user.ID, code); err != nil || !verified {
			return err // a wrong guess is counted: the transaction commits
		}
		if err := markVerified(ctx, tx, user.ID); err != nil {
			return err
		}
		_, err = s.log.Append(ctx, tx, userEntry("user.verified", as(user.ID), user.ID, nil))
		return err
	})
	if err != nil {
		return fmt.Errorf("verify an address: %w", err)
	}
	if !verified {
		return refusedCode()
	}
	return nil
}

// refusedCode is the one answer to a verification that did not work.
func refusedCode() error {
	return fault.Field("code",
		"is wrong or has expired, or the password is not the account's; ask for a new code, or reset the password")
}

// ResendOTP mails a new code to an unverified account. It never says whether
// there is one.
func (s *Service) ResendOTP(ctx context.Context, address string) error {
	if err := s.requireMail(ctx); err != nil {
		return err
	}
	address, err := email.Normalise(address)
	if err != nil {
		return err
	}
	var code secret.Text
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		code = secret.Text{}
		user, _, err := findUserByEmail(ctx, tx, address)
		if err != nil || user.ID == "" || user.VerifiedAt != nil {
			return err
		}
		code, err = newCode(ctx, tx, user.ID, purposeVerify)
		return err
	})
	if err != nil {
		return fmt.Errorf("send a new code: %w", err)
	}
	if code.IsSet() {
		s.sendQuietly(ctx, codeMail(address, code))
	}
	return nil
}

func codeMail(address string, code secret.Text) mail.Message {
	return mail.Message{
		To:      address,
		Subject: "Your Writ code",
		Text: fmt.Sprintf("Your code is %s. It is valid for %d minutes.\n\n"+
			"If you did not ask for it, ignore this mail.\n", code.Reveal(), int(otpLife.Minutes())),
	}
}

// requireMail refuses what ends in a mail where none can be sent, before anything
// is looked up: refusing only those who have an account would tell who has one.
func (s *Service) requireMail(ctx context.Context) error {
	if none, ok := s.mail.(mail.None); ok {
		return none.Send(ctx, mail.Message{})
	}
	return nil
}

// change runs a transaction that may append to the system log.
func (s *Service) change(ctx context.Context, do func(ctx context.Context, tx *database.Tx) error) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.System}, Do: do})
}

// Empty reports whether there is no account at all.
func (s *Service) Empty(ctx context.Context, r database.Reader) (bool, error) {
	return noUsers(ctx, r)
}

// FindID is the id of the account with this address; NotFound without one. It
// is for the operator: nobody else may ask.
func (s *Service) FindID(ctx context.Context, address string) (string, error) {
	address, err := email.Normalise(address)
	if err != nil {
		return "", err
	}
	user, _, err := findUserByEmail(ctx, s.db, address)
	if err != nil {
		return "", err
	}
	if user.ID == "" {
		return "", fault.New(fault.NotFound, "there is no account with the address %s", address)
	}
	return user.ID, nil
}
