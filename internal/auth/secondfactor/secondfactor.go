// Package secondfactor keeps the second factors of people: the secrets of their authenticator apps, and the recovery
// codes for the day on which the app is gone.
//
// A factor counts from the first code that its owner enters, and proves that the app has the secret. A code is
// accepted once: the step of the last one is stored, and neither it nor an earlier one works again. Each recovery code
// works once. Ten wrong codes within an hour lock the factor for the rest of that hour; whoever can try has the
// password or a session already, so that strangers cannot lock anybody out.
//
// Secrets are sealed with the person's id, recovery codes are stored as hashes. Everything here runs within a change of
// package auth, which says who may, and records it.
package secondfactor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"writ/internal/auth/totp"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/secret"
)

const (
	// RecoveryCodes is how many are given.
	RecoveryCodes  = 10
	recoveryLength = 16 // letters of a recovery code: 69 bits, so that a plain hash is enough
	recoveryGroup  = 4  // letters between two hyphens

	maxFailures   = 10 // wrong codes that are taken
	failureWindow = time.Hour
	beginLife     = 15 * time.Minute // of a secret that no code has confirmed
)

// Factors makes, checks and removes second factors.
type Factors struct{ sealer *secret.Sealer }

// New makes a Factors.
func New(sealer *secret.Sealer) *Factors { return &Factors{sealer} }

// Status is what a person has.
type Status struct {
	Enrolled      bool
	Since         time.Time // if enrolled
	RecoveryCodes int       // that are unused
}

// Begin stores a new secret that does not count yet, in place of an earlier one that never did. orgID is the
// organization whose identity provider vouched for the person; empty: none did.
func (f *Factors) Begin(ctx context.Context, tx *database.Tx, userID, orgID string) ([]byte, error) {
	row, err := find(ctx, tx, userID)
	if err != nil {
		return nil, err
	}
	if row.confirmed() {
		return nil, fault.New(fault.Conflict, "you have a second factor already; remove it to add another")
	}
	if err := Remove(ctx, tx, userID); err != nil {
		return nil, err
	}
	key := totp.NewKey()
	return key, insert(ctx, tx, userID, orgID, f.sealer.Seal(sealContext(userID), key))
}

func sealContext(userID string) string { return "second-factor/" + userID }

// Confirm makes a secret count, if the code is one of it, and gives the recovery codes. A wrong code gives none and is
// counted, which the caller must commit.
func (f *Factors) Confirm(ctx context.Context, tx *database.Tx, userID, code string) ([]secret.Text, error) {
	row, err := find(ctx, tx, userID)
	if err != nil {
		return nil, err
	}
	if !row.exists() || row.confirmed() || !tx.Now().Before(row.createdAt.Add(beginLife)) {
		return nil, fault.New(fault.Conflict, "there is no second factor to confirm: begin with a new one")
	}
	if err := row.refuseLocked(tx.Now()); err != nil {
		return nil, err
	}
	step, err := f.match(row, code, tx.Now())
	if err != nil {
		return nil, err
	}
	if step == 0 {
		_, err := countFailure(ctx, tx, row)
		return nil, err
	}
	if err := markConfirmed(ctx, tx, userID, step); err != nil {
		return nil, err
	}
	return f.renew(ctx, tx, userID)
}

// Used is what became of a code. The zero value is a wrong one.
type Used struct {
	Accepted    bool
	LockedUntil time.Time // if this wrong code is the one that locked the factor
}

// Use accepts a code of the app or a recovery code, once. A wrong one is counted, which the caller must commit; a
// factor with too many is a TooMany fault. Nobody's factor accepts nothing.
func (f *Factors) Use(ctx context.Context, tx *database.Tx, userID, code string) (used Used, err error) {
	row, err := find(ctx, tx, userID)
	if err != nil || !row.confirmed() {
		return Used{}, err
	}
	// First: nobody guesses a recovery code, and whoever has the password cannot lock its owner out of them.
	used.Accepted, err = useRecovery(ctx, tx, userID, recoveryHash(userID, code))
	if err != nil || used.Accepted {
		return used, err
	}
	if err := row.refuseLocked(tx.Now()); err != nil {
		return Used{}, err
	}
	step, err := f.match(row, code, tx.Now())
	if err != nil {
		return Used{}, err
	}
	if step != 0 {
		used.Accepted, err = useStep(ctx, tx, userID, step)
		return used, err
	}
	used.LockedUntil, err = countFailure(ctx, tx, row)
	return used, err
}

// refuseLocked refuses a factor with too many wrong codes.
func (r row) refuseLocked(now time.Time) error {
	ends := r.failingSince.Add(failureWindow)
	if r.failures < maxFailures || !now.Before(ends) {
		return nil
	}
	locked := fault.New(fault.TooMany, "too many wrong codes; try again later")
	locked.RetryAfter = ends.Sub(now)
	return locked
}

// match is the step of a code that was not used; 0: the code is none of the app's.
func (f *Factors) match(r row, code string, now time.Time) (int64, error) {
	key, err := f.sealer.Open(sealContext(r.userID), r.sealed)
	if err != nil {
		return 0, fmt.Errorf("open the second factor of %s: %w", r.userID, err)
	}
	return totp.Match(key, strings.ReplaceAll(strings.TrimSpace(code), " ", ""), now, r.lastStep), nil
}

// Renew gives new recovery codes in place of the old ones.
func (f *Factors) Renew(ctx context.Context, tx *database.Tx, userID string) ([]secret.Text, error) {
	row, err := find(ctx, tx, userID)
	if err != nil {
		return nil, err
	}
	if !row.confirmed() {
		return nil, fault.New(fault.Conflict, "you have no second factor")
	}
	return f.renew(ctx, tx, userID)
}

func (f *Factors) renew(ctx context.Context, tx *database.Tx, userID string) ([]secret.Text, error) {
	if err := deleteRecovery(ctx, tx, userID); err != nil {
		return nil, err
	}
	codes := make([]secret.Text, RecoveryCodes)
	for i := range codes {
		letters := secret.Letters(recoveryLength).Reveal()
		if err := insertRecovery(ctx, tx, userID, recoveryHash(userID, letters)); err != nil {
			return nil, err
		}
		codes[i] = secret.NewText(grouped(letters))
	}
	return codes, nil
}

// grouped puts hyphens between groups of letters, for people to copy.
func grouped(letters string) string {
	var groups []string
	for ; len(letters) > 0; letters = letters[recoveryGroup:] {
		groups = append(groups, letters[:recoveryGroup])
	}
	return strings.Join(groups, "-")
}

// recoveryHash binds a code to its owner, however it was typed.
func recoveryHash(userID, code string) []byte {
	letters := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	return secret.Hash(userID + "\x00" + letters)
}
