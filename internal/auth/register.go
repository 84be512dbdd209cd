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

// NewUser is what a person enters to sign up.
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
	return CheckName(n.Name)
}

// Register adds an unverified account and mails it a code. The answer does not reveal whether the address has
// an account already: then its owner gets a mail, after the same work.
func (s *Service) Register(ctx context.Context, n NewUser) error {
	if err := s.requireMail(ctx); err != nil {
		return err
	}
	user, hash, err := s.Prepare(ctx, n)
	if err != nil {
		return err
	}
	message, err := s.register(ctx, user, hash)
	if fault.Is(err, fault.Conflict) { // another server has made the account meanwhile: now it is known
		message, err = s.register(ctx, user, hash)
	}
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	if message.To != "" {
		_ = s.mail.Send(ctx, message) // an error would depend on the account; the sender logs it
	}
	return nil
}

// register stores the account, or that somebody registered one that exists, and gives the mail that says so. Both ways
// store a code and append to the log.
func (s *Service) register(ctx context.Context, user User, hash string) (message mail.Message, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		message = mail.Message{}
		known, _, err := findUserByEmail(ctx, tx, user.Email)
		if err != nil {
			return err
		}
		account, compose := user, codeMail
		switch {
		case known.ID == "":
			account.VerifiedAt = nil
			err = s.AddUser(ctx, tx, as(user.ID), &account, hash)
		case known.VerifiedAt == nil:
			account, compose = known, s.unverifiedMail
			err = s.recordRepeated(ctx, tx, known)
		default:
			account, compose = known, s.knownMail
			err = s.recordRepeated(ctx, tx, known)
		}
		if err != nil {
			return err
		}
		code, err := newCode(ctx, tx, account.ID, purposeVerify)
		if err == nil && code.IsSet() {
			message = compose(account.Email, code)
		}
		return err
	})
	return message, err
}

// recordRepeated records that an account was registered again. Nobody is signed in, so the actor is nobody.
func (s *Service) recordRepeated(ctx context.Context, tx *database.Tx, known User) error {
	_, err := s.log.Append(ctx, tx, userEntry("user.registered_again", principal.Principal{}, known.ID, nil))
	return err
}

// unverifiedMail is codeMail for an account that was registered before, perhaps by somebody else.
func (s *Service) unverifiedMail(address string, code secret.Text) mail.Message {
	m := codeMail(address, code)
	m.Text += fmt.Sprintf("\nThis address was registered before, and the password of that time still counts. If it was not\n"+
		"you who chose it, ask for a new one at %s/ui/ and ignore the code.\n", s.publicURL)
	return m
}

// knownMail tells the owner of a verified account that somebody registered its address. The code is not in it: there is
// nothing to verify.
func (s *Service) knownMail(address string, _ secret.Text) mail.Message {
	return mail.Message{
		To:      address,
		Subject: "You already have a Writ account",
		Text: fmt.Sprintf("Somebody signed up at %s with this e-mail address, which has an account already. Nothing has\n"+
			"changed.\n\nIf it was you, sign in, or ask there for a new password. If it was not, ignore this e-mail.\n",
			s.publicURL),
	}
}

// Prepare checks a new account and hashes its password, which is too slow for a
// transaction. AddUser stores the result.
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
// the system log. For accounts made by the operator VerifiedAt is set.
func (s *Service) AddUser(
	ctx context.Context, tx *database.Tx, actor principal.Principal, user *User, passwordHash string,
) error {
	user.CreatedAt = tx.Now()
	err := insertUser(ctx, tx, *user, passwordHash)
	if database.IsUnique(err) {
		return fault.Wrap(err, fault.Conflict,
			"an account with this e-mail address exists already; if it is yours, reset its password")
	}
	if err != nil {
		return fmt.Errorf("store the account: %w", err)
	}
	_, err = s.log.Append(ctx, tx, userEntry("user.registered", actor, user.ID,
		map[string]any{"email": user.Email, "verified": user.VerifiedAt != nil}))
	return err
}

// VerifyOTP verifies an address with the code that was mailed to it and the
// account's password: the code alone would let the owner of the address activate an
// account that a stranger made in their name. Every failure looks the same.
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
			return err // nil after a wrong guess, so that its count is committed
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

// ResendOTP mails a new code to an unverified account. Its answer does not reveal
// whether there is one.
func (s *Service) ResendOTP(ctx context.Context, address string) error {
	return s.mailCode(ctx, address, func(ctx context.Context, tx *database.Tx, user User) (secret.Text, error) {
		if user.VerifiedAt != nil {
			return secret.Text{}, nil
		}
		return newCode(ctx, tx, user.ID, purposeVerify)
	}, codeMail)
}

// mailCode mails the account with an address the code that make gives, if there is
// such an account and make gives one. The answer is the same for every address.
func (s *Service) mailCode(
	ctx context.Context, address string,
	make func(ctx context.Context, tx *database.Tx, user User) (secret.Text, error),
	message func(address string, code secret.Text) mail.Message,
) error {
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
		if err != nil || user.ID == "" {
			return err
		}
		code, err = make(ctx, tx, user)
		return err
	})
	if err != nil {
		return fmt.Errorf("make a code to mail: %w", err)
	}
	if code.IsSet() {
		_ = s.mail.Send(ctx, message(address, code)) // an error would reveal the account; the sender logs it
	}
	return nil
}

func codeMail(address string, code secret.Text) mail.Message {
	return mail.Message{
		To:      address,
		Subject: "Your Writ code",
		Text: fmt.Sprintf("Your code is %s. It is valid for %d minutes.\n\n"+
			"If you did not ask for it, ignore this e-mail.\n", code.Reveal(), int(otpLife.Minutes())),
	}
}

// requireMail fails where mail cannot be sent, before any account is looked up:
// failing for known addresses only would reveal them.
func (s *Service) requireMail(ctx context.Context) error {
	return mail.Require(ctx, s.mail)
}

// change runs a transaction that may append to the system log.
func (s *Service) change(ctx context.Context, do func(ctx context.Context, tx *database.Tx) error) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.System}, Do: do})
}

// Empty reports whether there is no account at all.
func (s *Service) Empty(ctx context.Context, r database.Reader) (none bool, err error) {
	err = r.QueryRow(ctx, `SELECT NOT EXISTS (SELECT 1 FROM user_account)`).Scan(&none)
	return none, database.Wrap(err, "look for accounts")
}

// FindID is the id of the account with this address; NotFound without one. Only
// the operator may use it.
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
		return "", fault.New(fault.NotFound, "there is no account with the address %s: "+
			"writd user create --email ADDRESS makes one", address)
	}
	return user.ID, nil
}

// AddVouched stores an account without a password for a person whom an identity
// provider vouches for. Only that provider can sign in to it, until the owner of the
// address sets a password by a mailed link.
func (s *Service) AddVouched(ctx context.Context, tx *database.Tx, user *User) (err error) {
	if user.Email, err = email.Normalise(user.Email); err != nil {
		return err
	}
	user.ID, user.Name = database.NewID(), cutName(user.Name)
	return s.AddUser(ctx, tx, as(user.ID), user, "")
}

// cutName makes a provider's name for a person fit, or drops it: nobody is there to
// correct it.
func cutName(name string) string {
	if letters := []rune(name); len(letters) > MaxNameLength {
		name = string(letters[:MaxNameLength])
	}
	if CheckName(name) != nil {
		return ""
	}
	return name
}
