package auth

import (
	"context"
	"fmt"
	"time"

	"writ/internal/auth/secondfactor"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/secret"
)

// ChallengeLife is how long a sign-in waits for its second factor.
const ChallengeLife = challengeLife

// refusedChallenge is the one answer to a challenge or code that does not work.
func refusedChallenge() error {
	return fault.New(fault.Unauthenticated, "the code is wrong or was used, or the sign-in took too long; begin again")
}

// newChallenge stores what a right password is worth: a code may be entered.
func newChallenge(ctx context.Context, tx *database.Tx, userID string) (secret.Text, error) {
	token := secret.Token("ch_")
	_, err := tx.Exec(ctx, `
		INSERT INTO login_challenge (hash, user_id, attempts, created_at, expires_at)
		VALUES ($1, $2, 0, $3, $4)`, secret.Hash(token.Reveal()), userID, database.Micros(tx.Now()),
		database.Micros(tx.Now().Add(challengeLife)))
	return token, database.Wrap(err, "store a challenge of %s", userID)
}

// FinishLogin opens the session of a challenge with a code of the second factor. A challenge works once, and not after
// five wrong codes.
func (s *Service) FinishLogin(ctx context.Context, challenge secret.Text, code string, d Device) (User, Tokens, error) {
	hash := secret.Hash(challenge.Reveal())
	// Anyone may call this, so most bad challenges are refused before the write queue.
	if userID, err := challenged(ctx, s.db, hash, s.db.Now()); err != nil || userID == "" {
		return User{}, Tokens{}, orRefused(err)
	}
	var user User
	var opened Opened
	var userID string
	var used secondfactor.Used
	err := s.change(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		user, opened, used = User{}, Opened{}, secondfactor.Used{}
		if userID, err = challenged(ctx, tx, hash, tx.Now()); err != nil || userID == "" {
			return err
		}
		if used, err = s.useFactor(ctx, tx, as(userID), userID, code); err != nil {
			return err
		}
		if !used.Accepted { // no error, so that the count of wrong codes is committed
			_, err = tx.Exec(ctx, `UPDATE login_challenge SET attempts = attempts + 1 WHERE hash = $1`, hash)
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM login_challenge WHERE hash = $1`, hash); err != nil {
			return err
		}
		if user, _, err = findUser(ctx, tx, userID); err != nil {
			return err
		}
		if opened, err = s.StartSession(ctx, tx, userID, "", d); err != nil {
			return err
		}
		return markProved(ctx, tx, opened.session.ID, tx.Now())
	})
	if err != nil {
		return User{}, Tokens{}, fmt.Errorf("finish a sign-in: %w", err)
	}
	s.notifyLocked(ctx, userID, used)
	if opened.session.ID == "" {
		return User{}, Tokens{}, refusedChallenge()
	}
	tokens, err := s.Issue(ctx, opened)
	return user, tokens, err
}

func orRefused(err error) error {
	if err != nil {
		return err
	}
	return refusedChallenge()
}

// challenged is whose challenge it is; empty: it does not work.
func challenged(ctx context.Context, r database.Reader, hash []byte, now time.Time) (userID string, err error) {
	err = r.QueryRow(ctx, `
		SELECT user_id
		FROM login_challenge
		WHERE hash = $1 AND expires_at > $2 AND attempts < $3`, hash, database.Micros(now), challengeAttempts).
		Scan(&userID)
	return userID, database.OrMissing(err, nil, "load a challenge")
}
