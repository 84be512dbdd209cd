package auth

import (
	"cmp"
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/internal/audit"
	"writ/internal/auth/secondfactor"
	"writ/internal/database"
	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/keyring"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Session is a signed-in browser or terminal.
type Session struct {
	ID         string
	UserID     string
	OrgID      string // the one organization it is limited to; empty: no limit
	Address    string
	UserAgent  string
	CreatedAt  time.Time
	LastUsedAt time.Time // when its tokens were last refreshed
	ExpiresAt  time.Time
	RevokedAt  *time.Time
	ProvedAt   *time.Time // when its person last proved their second factor; nil: never
	enrolled   bool       // whether the person has one
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

// Login opens a session for a verified account, or gives a challenge if the account has a second factor.
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

// begin opens a session or gives a challenge, if the password is still the one that was checked: a reset
// that came in between wins.
func (s *Service) begin(ctx context.Context, userID, checkedHash string, d Device) (Tokens, error) {
	var opened Opened
	var challenge secret.Text
	err := s.change(ctx, func(ctx context.Context, tx *database.Tx) error {
		_, hash, err := findUser(ctx, tx, userID)
		if err != nil {
			return err
		}
		if hash != checkedHash {
			return refusedLogin()
		}
		opened, challenge = Opened{}, secret.Text{}
		status, err := secondfactor.StatusOf(ctx, tx, userID)
		if err != nil {
			return err
		}
		if status.Enrolled {
			challenge, err = newChallenge(ctx, tx, userID)
			return err
		}
		opened, err = s.StartSession(ctx, tx, userID, "", d)
		return err
	})
	if err != nil || challenge.IsSet() {
		return Tokens{Challenge: challenge}, err
	}
	return s.Issue(ctx, opened)
}

// Opened is a stored session that has no access token yet.
type Opened struct {
	session Session
	refresh secret.Text
}

// StartSession stores a session for a person whom the caller has authenticated,
// within the caller's transaction, which declares the system log. With an
// organization the session is limited to it. Issue gives its tokens after the
// commit.
func (s *Service) StartSession(ctx context.Context, tx *database.Tx, userID, orgID string, d Device) (Opened, error) {
	now := tx.Now()
	session := Session{
		ID:         database.NewID(),
		UserID:     userID,
		OrgID:      orgID,
		Address:    d.Address,
		UserAgent:  cut(d.UserAgent, maxUserAgent),
		CreatedAt:  now,
		LastUsedAt: now,
		ExpiresAt:  now.Add(SessionLife),
	}
	refresh := secret.Token(refreshPrefix(d.Cookie))
	if err := insertSession(ctx, tx, session); err != nil {
		return Opened{}, err
	}
	if err := insertRefresh(ctx, tx, session.ID, secret.Hash(refresh.Reveal())); err != nil {
		return Opened{}, err
	}
	recorded := map[string]any{"session": session.ID, "address": session.Address, "userAgent": session.UserAgent}
	if orgID != "" {
		recorded["limitedTo"] = orgID
	}
	_, err := s.log.Append(ctx, tx, userEntry("session.created", as(userID), userID, recorded))
	return Opened{session, refresh}, err
}

// Issue gives the tokens of a session that was stored.
func (s *Service) Issue(ctx context.Context, o Opened) (Tokens, error) {
	return s.tokens(ctx, o.session, o.refresh)
}

// refreshPrefix begins a refresh token. Tokens of cookies have their own, so that
// neither kind works in the place of the other.
func refreshPrefix(cookie bool) string {
	if cookie {
		return "rc_"
	}
	return "rt_"
}

// Refresh replaces a refresh token. A token that was used before ends its
// session, because one of its two holders is not the owner. A token in a cookie may
// be used again within repeatWindow, and gives the same successor again.
func (s *Service) Refresh(ctx context.Context, token secret.Text, cookie bool) (Tokens, error) {
	if !strings.HasPrefix(token.Reveal(), refreshPrefix(cookie)) {
		return Tokens{}, refusedRefresh()
	}
	hash := secret.Hash(token.Reveal())
	// Anyone may call this, so most bad tokens are refused before the write queue.
	if known, _, err := findByRefresh(ctx, s.db, hash); err != nil || !known.live(s.db.Now()) {
		return Tokens{}, cmp.Or(err, refusedRefresh())
	}
	next, err := s.successor(ctx, token, cookie)
	if err != nil {
		return Tokens{}, err
	}
	var session Session
	err = s.ending(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		session, err = s.rotate(ctx, tx, hash, next, cookie)
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

// successor is the token that replaces another. That of a cookie's token is a function of it that only
// this server can compute: a repeat then makes no second chain, on which a thief could go on unseen.
func (s *Service) successor(ctx context.Context, token secret.Text, cookie bool) (secret.Text, error) {
	if !cookie {
		return secret.Token(refreshPrefix(false)), nil
	}
	key, err := s.keys.Current(ctx, keyring.AccessToken)
	if err != nil {
		return secret.Text{}, err
	}
	derived, err := hkdf.Key(sha256.New, key.Private.Seed(), nil, "writ/cookie-successor/v1", sha256.Size)
	if err != nil {
		return secret.Text{}, fmt.Errorf("derive the key of successors: %w", err)
	}
	mac := hmac.New(sha256.New, derived)
	mac.Write([]byte(token.Reveal()))
	return secret.NewText(refreshPrefix(true) + hex.EncodeToString(mac.Sum(nil))), nil
}

// rotate gives the session whose token was replaced, or none. A reuse that ends the
// session is no error, so that it is committed.
func (s *Service) rotate(
	ctx context.Context, tx *database.Tx, hash []byte, next secret.Text, cookie bool,
) (Session, error) {
	session, usedAt, err := findByRefresh(ctx, tx, hash)
	if err != nil || session.ID == "" || !session.live(tx.Now()) {
		return Session{}, err
	}
	nextHash := secret.Hash(next.Reveal())
	fresh := false
	if usedAt == nil {
		// Not fresh: another replica was faster, at this moment.
		if fresh, err = useRefresh(ctx, tx, hash); err != nil {
			return Session{}, err
		}
	}
	if fresh {
		if err := insertRefresh(ctx, tx, session.ID, nextHash); err != nil {
			return Session{}, err
		}
		return session, touchSession(ctx, tx, session.ID)
	}
	repeated := cookie && (usedAt == nil || tx.Now().Sub(*usedAt) < repeatWindow)
	if repeated {
		// No successor: the server's key was replaced in between, and the owner cannot be told from a thief.
		successor, _, err := findByRefresh(ctx, tx, nextHash)
		if err != nil {
			return Session{}, err
		}
		repeated = successor.ID == session.ID
	}
	if repeated {
		return session, touchSession(ctx, tx, session.ID)
	}
	return Session{}, s.endReused(ctx, tx, session)
}

func (s *Service) endReused(ctx context.Context, tx *database.Tx, session Session) error {
	if _, err := s.endSession(ctx, tx, as(session.UserID), session.ID); err != nil {
		return err
	}
	_, err := s.log.Append(ctx, tx, userEntry("session.reuse_detected", as(session.UserID), session.UserID,
		map[string]any{"session": session.ID}))
	return err
}

// SignOut ends the session of a cookie's token, which may be an old one of it. One that does not work has
// no session to end.
func (s *Service) SignOut(ctx context.Context, token secret.Text) error {
	if !strings.HasPrefix(token.Reveal(), refreshPrefix(true)) {
		return nil
	}
	session, _, err := findByRefresh(ctx, s.db, secret.Hash(token.Reveal()))
	if err != nil || !session.live(s.db.Now()) {
		return err
	}
	err = s.RevokeSession(ctx, as(session.UserID), session.ID)
	if fault.Is(err, fault.NotFound) { // it ended in between
		return nil
	}
	return err
}

// Sessions lists the caller's live sessions, newest first. A limited session sees
// only those with the same limit.
func (s *Service) Sessions(ctx context.Context, p principal.Principal) ([]Session, error) {
	return listSessions(ctx, s.db, p.UserID, p.LimitedTo, s.db.Now())
}

// RevokeSession ends one of the caller's sessions, perhaps the present one, and the key of its terminal. A limited
// session ends only those with the same limit.
func (s *Service) RevokeSession(ctx context.Context, p principal.Principal, sessionID string) error {
	return s.ending(ctx, func(ctx context.Context, tx *database.Tx) error {
		revoked, err := s.endSession(ctx, tx, p, sessionID)
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

// undeclared are logs that a change needs and did not declare.
type undeclared []string

func (undeclared) Error() string { return "the keys of this terminal changed meanwhile; try again" }

// ending runs a change that may end sessions. Which logs that needs shows only where the session is read: a terminal
// may have keys in several organizations, and get another one in between.
func (s *Service) ending(ctx context.Context, do func(ctx context.Context, tx *database.Tx) error) error {
	var more undeclared
	for range 3 {
		err := s.db.Write(ctx, database.Change{Logs: append([]string{audit.System}, more...), Do: do})
		if !errors.As(err, &more) {
			if len(more) > 0 {
				s.terminals.Forget() // also after an error: the commit may have taken effect
			}
			return err
		}
	}
	return fault.Wrap(more, fault.Conflict, "%v", more)
}

// endSession ends a live session and the key that its terminal got beside it: whoever holds the one holds the other.
func (s *Service) endSession(
	ctx context.Context, tx *database.Tx, by principal.Principal, sessionID string,
) (bool, error) {
	revoked, err := revokeSession(ctx, tx, by.UserID, sessionID, by.LimitedTo)
	if err != nil || !revoked {
		return false, err
	}
	logs, err := s.terminals.LogsOf(ctx, tx, by.UserID, sessionID)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(logs, func(log string) bool { return !tx.HoldsLog(log) }) {
		return false, undeclared(logs)
	}
	return true, s.terminals.End(ctx, tx, by, by.UserID, sessionID)
}

// IsLive reports whether a session is still a live, unlimited session of a person,
// within a change that was begun with it.
func IsLive(ctx context.Context, tx *database.Tx, userID, sessionID string) (bool, error) {
	session, err := findSession(ctx, tx, sessionID)
	return session.UserID == userID && session.OrgID == "" && session.live(tx.Now()), err
}

// Get reads the caller's account.
func (s *Service) Get(ctx context.Context, p principal.Principal) (User, error) {
	return s.Find(ctx, p.UserID)
}

// Find reads the account with an id.
func (s *Service) Find(ctx context.Context, userID string) (User, error) {
	user, _, err := findUser(ctx, s.db, userID)
	return user, err
}

// cut shortens text to at most n bytes without splitting a character, and drops
// characters that no database accepts.
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
