package auth

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Session is a signed-in browser or terminal.
type Session struct {
	ID         string
	UserID     string
	OrgID      string // the one organization it is good for; empty: no limit
	Address    string
	UserAgent  string
	CreatedAt  time.Time
	LastUsedAt time.Time // when its tokens were last refreshed
	ExpiresAt  time.Time
	RevokedAt  *time.Time
}

func (s Session) live(now time.Time) bool { return s.RevokedAt == nil && now.Before(s.ExpiresAt) }

// refusedLogin is the one answer to a wrong password, an unknown account and an
// unverified one.
func refusedLogin() error {
	return fault.New(fault.Unauthenticated,
		"the e-mail address or the password is wrong, or the address is not verified yet")
}

// refusedRefresh is the one answer to a refresh token that does not work.
func refusedRefresh() error {
	return fault.New(fault.Unauthenticated, "the refresh token is not valid; sign in again")
}

// Login begins a session for a verified account.
func (s *Service) Login(ctx context.Context, address string, password secret.Text, d Device) (User, Tokens, error) {
	address, err := email.Normalise(address)
	if err != nil {
		return User{}, Tokens{}, err
	}
	user, hash, err := findUserByEmail(ctx, s.db, address)
	if err != nil {
		return User{}, Tokens{}, fmt.Errorf("sign in: %w", err)
	}
	matches, err := s.passwords.Matches(ctx, password.Reveal(), hash)
	if err != nil {
		return User{}, Tokens{}, err
	}
	if !matches || user.VerifiedAt == nil {
		return User{}, Tokens{}, refusedLogin()
	}
	tokens, err := s.begin(ctx, user.ID, hash, d)
	if err != nil {
		return User{}, Tokens{}, fmt.Errorf("sign in: %w", err)
	}
	return user, tokens, nil
}

// begin stores a new session with its first refresh token. The password must
// still be the one that was checked: a reset that came in between wins.
func (s *Service) begin(ctx context.Context, userID, checkedHash string, d Device) (Tokens, error) {
	var opened Opened
	err := s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		_, hash, err := findUser(ctx, tx, userID)
		if err != nil {
			return err
		}
		if hash != checkedHash {
			return refusedLogin()
		}
		opened, err = s.StartSession(ctx, tx, userID, "", d)
		return err
	})
	if err != nil {
		return Tokens{}, err
	}
	return s.Issue(ctx, opened)
}

// Refresh replaces a refresh token. A token that was used before ends its
// session, because one of the two who hold it is not its owner.
func (s *Service) Refresh(ctx context.Context, token secret.Text) (Tokens, error) {
	hash := secret.Hash(token.Reveal())
	// Most bad tokens are refused here: anyone may call this, and must not be able
	// to fill the queue of changes.
	if known, _, err := findByRefresh(ctx, s.db, hash); err != nil || !known.live(s.db.Now()) {
		return Tokens{}, orRefused(err)
	}
	next := secret.Token("rt_")
	var session Session
	err := s.change(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		session, err = s.rotate(ctx, tx, hash, next)
		return err
	})
	if err != nil {
		return Tokens{}, fmt.Errorf("refresh: %w", err)
	}
	if session.ID == "" {
		return Tokens{}, refusedRefresh()
	}
	return s.tokens(ctx, session, next)
}

func orRefused(err error) error {
	if err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	return refusedRefresh()
}

// rotate gives the session whose token was replaced, or none. It must not be an
// error when a reuse ends the session: that has to be committed.
func (s *Service) rotate(ctx context.Context, tx *database.Tx, hash []byte, next secret.Text) (Session, error) {
	session, used, err := findByRefresh(ctx, tx, hash)
	if err != nil || session.ID == "" || !session.live(tx.Now()) {
		return Session{}, err
	}
	if !used {
		fresh, err := useRefresh(ctx, tx, hash)
		if err != nil {
			return Session{}, err
		}
		used = !fresh // another replica was faster
	}
	if used {
		if _, err := revokeSession(ctx, tx, session.UserID, session.ID, ""); err != nil {
			return Session{}, err
		}
		_, err := s.log.Append(ctx, tx, userEntry("session.reuse_detected", as(session.UserID), session.UserID,
			map[string]any{"session": session.ID}))
		return Session{}, err
	}
	if err := insertRefresh(ctx, tx, session.ID, secret.Hash(next.Reveal())); err != nil {
		return Session{}, err
	}
	return session, touchSession(ctx, tx, session.ID)
}

// Sessions lists the caller's live sessions, newest first. A limited one sees
// only those with the same limit.
func (s *Service) Sessions(ctx context.Context, p principal.Principal) ([]Session, error) {
	return listSessions(ctx, s.db, p.UserID, p.LimitedTo, s.db.Now())
}

// RevokeSession ends one of the caller's sessions, the present one included; a
// limited one ends only those with the same limit.
func (s *Service) RevokeSession(ctx context.Context, p principal.Principal, sessionID string) error {
	return s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		revoked, err := revokeSession(ctx, tx, p.UserID, sessionID, p.LimitedTo)
		if err != nil {
			return err
		}
		if !revoked {
			return fault.New(fault.NotFound, "there is no such session")
		}
		_, err = s.log.Append(ctx, tx, userEntry("session.revoked", p, p.UserID, map[string]any{"session": sessionID}))
		return err
	})
}

// Get reads the caller's account.
func (s *Service) Get(ctx context.Context, p principal.Principal) (User, error) {
	user, _, err := findUser(ctx, s.db, p.UserID)
	return user, err
}

// Sweep removes sessions and codes that ended long ago, a slice at a time.
func (s *Service) Sweep(ctx context.Context) error {
	for removed := int64(1); removed > 0; {
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
			removed, err = deleteEnded(ctx, tx, tx.Now().Add(-SessionLife))
			return err
		}})
		if err != nil {
			return fmt.Errorf("sweep sessions: %w", err)
		}
	}
	return nil
}

// cut shortens text to at most n bytes without splitting a character, and drops
// what no database takes.
func cut(text string, n int) string {
	clean := make([]byte, 0, min(len(text), n))
	for _, r := range text {
		if r == 0 || r == '\uFFFD' {
			continue
		}
		if len(clean)+len(string(r)) > n {
			break
		}
		clean = append(clean, string(r)...)
	}
	return string(clean)
}
