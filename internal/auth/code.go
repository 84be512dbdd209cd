package auth

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/secret"
)

// purpose is what a mailed code is good for.
type purpose string

const (
	purposeVerify purpose = "verify" // six digits that a person types
	purposeReset  purpose = "reset"  // a token in a link
)

// newCode makes a code, ends earlier ones of its purpose, and stores its hash.
// An account that had its share within the hour gets none.
func newCode(ctx context.Context, tx *database.Tx, userID string, p purpose) (secret.Text, error) {
	sent, err := countCodes(ctx, tx, userID, p, tx.Now().Add(-time.Hour))
	if err != nil || sent >= codesPerHour {
		return secret.Text{}, err
	}
	if err := endCodes(ctx, tx, userID, p); err != nil {
		return secret.Text{}, err
	}
	code, life := secret.Digits(otpDigits), otpLife
	if p == purposeReset {
		code, life = secret.Token("rst_"), resetLife
	}
	return code, insertCode(ctx, tx, userID, p, codeHash(userID, p, code.Reveal()), tx.Now().Add(life))
}

// codeHash binds six digits to their account: the same code of another account
// has another hash. A reset token has entropy enough and must be found by itself.
func codeHash(userID string, p purpose, code string) []byte {
	if p == purposeReset {
		return secret.Hash(code)
	}
	return secret.Hash(userID + "\x00" + code)
}

// useOTP checks six digits against the account's live code and uses it up, or
// counts a wrong guess.
func useOTP(ctx context.Context, tx *database.Tx, userID, code string) (bool, error) {
	live, err := findLiveCode(ctx, tx, userID, purposeVerify)
	if err != nil || live.ID == "" || live.Attempts >= otpAttempts {
		return false, err
	}
	if !secret.SameHash(live.Hash, codeHash(userID, purposeVerify, code)) {
		return false, countAttempt(ctx, tx, live.ID)
	}
	return true, useCode(ctx, tx, live.ID)
}
