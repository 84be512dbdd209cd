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

// newCode stores a new code and ends earlier ones of the same purpose. It gives no
// code to an account that has reached codesPerHour.
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

// codeHash binds six digits to their account, so that equal codes of two accounts
// have different hashes. A reset token has enough entropy, and is looked up by its
// hash alone.
func codeHash(userID string, p purpose, code string) []byte {
	if p == purposeReset {
		return secret.Hash(code)
	}
	return secret.Hash(userID + "\x00" + code)
}

// useOTP checks six digits against the account's live code. It uses the code up, or
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
