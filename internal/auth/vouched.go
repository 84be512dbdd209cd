package auth

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/secret"
)

// Opened is a session that was stored and has no access token yet.
type Opened struct {
	session Session
	refresh secret.Text
}

// StartSession stores a session for a person whom the caller has found to be who
// they say, within the caller's transaction, which declares the system log. With
// an organization it is good for that one alone. Issue gives its tokens, once the
// transaction is committed.
func (s *Service) StartSession(ctx context.Context, tx *database.Tx, userID, orgID string, d Device) (Opened, error) {
	now := tx.Now()
	opened := Opened{
		session: Session{
			ID:         database.NewID(),
			UserID:     userID,
			OrgID:      orgID,
			Address:    d.Address,
			UserAgent:  cut(d.UserAgent, maxUserAgent),
			CreatedAt:  now,
			LastUsedAt: now,
			ExpiresAt:  now.Add(SessionLife),
		},
		refresh: secret.Token("rt_"),
	}
	session := opened.session
	if err := insertSession(ctx, tx, session); err != nil {
		return Opened{}, fmt.Errorf("store a session: %w", err)
	}
	if err := insertRefresh(ctx, tx, session.ID, secret.Hash(opened.refresh.Reveal())); err != nil {
		return Opened{}, fmt.Errorf("store a refresh token: %w", err)
	}
	recorded := map[string]any{"session": session.ID, "address": session.Address, "userAgent": session.UserAgent}
	if orgID != "" {
		recorded["limitedTo"] = orgID
	}
	_, err := s.log.Append(ctx, tx, userEntry("session.created", as(userID), userID, recorded))
	return opened, err
}

// Issue gives the tokens of a session that was stored.
func (s *Service) Issue(ctx context.Context, o Opened) (Tokens, error) {
	return s.tokens(ctx, o.session, o.refresh)
}

// EndLimited ends every session of people, or of one person, that is good for one
// organization alone, when who vouched for them does so no more. What was to
// become one ends too: a code that no page has exchanged yet, and a yes that no
// terminal has collected.
func EndLimited(ctx context.Context, tx *database.Tx, orgID, userID string) error {
	if orgID == "" {
		return nil // such a session has no limit
	}
	_, err := tx.Exec(ctx, `
		UPDATE user_session
		SET revoked_at = $3
		WHERE org_id = $1 AND ($2 = '' OR user_id = $2) AND revoked_at IS NULL`, orgID, userID,
		database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("end the limited sessions of %s: %w", orgID, err)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM sign_in_code WHERE org_id = $1 AND ($2 = '' OR user_id = $2)`, orgID,
		userID); err != nil {
		return fmt.Errorf("end the sign-in codes of %s: %w", orgID, err)
	}
	if err := denyLimitedDevices(ctx, tx, orgID, userID); err != nil {
		return fmt.Errorf("take back what limited sessions of %s gave: %w", orgID, err)
	}
	return nil
}

// IsLive reports whether a session without a limit is still that of a person,
// within a change that was begun with it.
func IsLive(ctx context.Context, tx *database.Tx, userID, sessionID string) (bool, error) {
	session, err := findSession(ctx, tx, sessionID)
	if err != nil {
		return false, fmt.Errorf("load the session: %w", err)
	}
	return session.UserID == userID && session.OrgID == "" && session.live(tx.Now()), nil
}

// Find is the account of an id, for who needs it without its password.
func (s *Service) Find(ctx context.Context, userID string) (User, error) {
	user, _, err := findUser(ctx, s.db, userID)
	return user, err
}

// AddressTaken reports whether an account has this address, which must be in the
// form of email.Normalise.
func AddressTaken(ctx context.Context, r database.Reader, address string) (bool, error) {
	user, _, err := findUserByEmail(ctx, r, address)
	return user.ID != "", err
}

// AddVouched stores an account without a password for a person whom somebody else
// vouches for. Nobody can sign in to it but through them, until its address is
// proven by a mailed link that sets a password.
func (s *Service) AddVouched(ctx context.Context, tx *database.Tx, user *User) (err error) {
	if user.Email, err = email.Normalise(user.Email); err != nil {
		return err
	}
	user.ID, user.Name = database.NewID(), cutName(user.Name)
	return s.AddUser(ctx, tx, as(user.ID), user, "")
}

// cutName makes a name of what a provider told: nobody is there to correct it.
func cutName(name string) string {
	for name != "" && checkName(name) != nil {
		letters := []rune(name)
		if len(letters) > MaxNameLength {
			name = string(letters[:MaxNameLength])
			continue
		}
		return ""
	}
	return name
}

// forgetVouchers ends the word of whoever else could sign in to an account, once
// the owner of its address has come for it: of the organization's provider that
// made it in their name, and of identities that were linked, for it may have been a
// thief who was signed in then. Google's word for an account that it made stays.
func forgetVouchers(ctx context.Context, tx *database.Tx, userID string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM external_identity WHERE user_id = $1 AND (org_id <> '' OR linked = 1)`,
		userID); err != nil {
		return fmt.Errorf("forget who vouched for %s: %w", userID, err)
	}
	return nil
}

// EndOthers ends every session of a person but one, within a change.
func EndOthers(ctx context.Context, tx *database.Tx, userID, except string) error {
	if err := revokeSessions(ctx, tx, userID, except); err != nil {
		return fmt.Errorf("end the other sessions of %s: %w", userID, err)
	}
	return nil
}
