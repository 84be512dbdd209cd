package account

import (
	"context"
	"slices"
	"strings"

	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Deleted is why payloads about a person are erased.
const Deleted = "the account was deleted"

// Leaving is a person whose account is being deleted.
type Leaving struct {
	principal.Principal
	Email string
	Heirs map[string]string // who gets the keys and agents, by organization; nobody: they end
}

// Parts are what other areas hold of a person.
type Parts struct {
	// Organizations are those whose logs the deletion appends to.
	Organizations func(ctx context.Context, r database.Reader, userID string) ([]string, error)
	// OnlyOwned are the names of the organizations that would be without an owner.
	OnlyOwned func(ctx context.Context, r database.Reader, userID string) ([]string, error)
	// Leave takes the person out of each area, in this order.
	Leave []func(ctx context.Context, tx *database.Tx, l Leaving) error
}

// Deletion is how a person ends their account.
type Deletion struct {
	Password secret.Text
	Proved   bool // the second factor, within the last minutes
	Heirs    map[string]string
}

// Delete deletes the caller's account. It asks for the password; of an account without one, for a fresh proof of the
// second factor.
func (s *Service) Delete(ctx context.Context, p principal.Principal, d Deletion) error {
	hash, err := s.Auth.CheckOwnPassword(ctx, p, "password", d.Password)
	if err != nil {
		return err
	}
	if hash == "" && !d.Proved {
		return fault.New(fault.Forbidden, "your account has no password: add a second factor and prove it, "+
			"or set a password by a mailed link, before you delete the account")
	}
	// The logs must be declared before they are locked; whatever the person joined since then is found below.
	organizations, err := s.Parts.Organizations(ctx, s.Database, p.UserID)
	if err != nil {
		return err
	}
	var gone auth.User
	err = s.Database.Write(ctx, database.Change{Logs: append(organizations, audit.System), Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		if err := auth.RequireLive(ctx, tx, p); err != nil {
			return err
		}
		if gone, err = auth.StillHas(ctx, tx, p.UserID, hash); err != nil {
			return err
		}
		now, err := s.Parts.Organizations(ctx, tx, p.UserID)
		if err != nil {
			return err
		}
		if !slices.Equal(now, organizations) {
			return fault.New(fault.Conflict, "your organizations or keys changed meanwhile; try again")
		}
		return s.erase(ctx, tx, Leaving{p, gone.Email, d.Heirs})
	}})
	if err != nil {
		return err
	}
	s.Auth.Send(ctx, mail.Message{
		To: gone.Email, Subject: "Your Writ account was deleted",
		Text: "The account with this address at " + s.PublicURL + " was deleted. This is the last mail about it.\n",
	})
	return nil
}

func (s *Service) erase(ctx context.Context, tx *database.Tx, l Leaving) error {
	only, err := s.Parts.OnlyOwned(ctx, tx, l.UserID)
	if err != nil {
		return err
	}
	if len(only) > 0 {
		return fault.New(fault.Conflict, "you are the last owner of %s: make another member owner, or close it first",
			strings.Join(only, ", "))
	}
	for _, leave := range s.Parts.Leave {
		if err := leave(ctx, tx, l); err != nil {
			return err
		}
	}
	if err := auth.Erase(ctx, tx, l.UserID); err != nil {
		return err
	}
	if _, err := s.eraseAbout(ctx, tx, l.Principal, l.UserID); err != nil {
		return err
	}
	return s.record(ctx, tx, l.Principal, "user.deleted", nil)
}

// eraseAbout erases a part of what the log says about a person, and reports whether there may be more.
func (s *Service) eraseAbout(
	ctx context.Context, tx *database.Tx, by principal.Principal, userID string,
) (more bool, err error) {
	return s.Log.EraseAbout(ctx, tx, by, audit.System, audit.Subject{Type: "user", ID: userID}, Deleted)
}

// EraseRest erases what the log still says about people whose accounts were deleted, in changes that keep nobody
// waiting. It does nothing where nothing is left.
func (s *Service) EraseRest(ctx context.Context) error {
	left, err := audit.StillSaidOf(ctx, s.Database, auth.DeletedAccounts)
	if err != nil {
		return err
	}
	for _, userID := range left {
		for more := true; more; {
			err := s.Database.Write(ctx, database.Change{Logs: []string{audit.System}, Do: func(
				ctx context.Context, tx *database.Tx,
			) (err error) {
				more, err = s.eraseAbout(ctx, tx, principal.Principal{Kind: principal.System}, userID)
				return err
			}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
