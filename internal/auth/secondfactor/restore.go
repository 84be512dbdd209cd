package secondfactor

import (
	"context"
	"database/sql"
	"slices"

	"writ/internal/database"
)

// Stored is a second factor with its recovery codes, as a restore takes it from one database into another. The zero
// value stands for none.
type Stored struct {
	factor
	codes []code
}

// factor is a row of second_factor without the person.
type factor struct {
	sealed, orgID          string
	createdAt              int64
	confirmedAt            sql.NullInt64
	lastStep               int64
	failures, failingSince int64
}

type code struct {
	hash   string
	usedAt sql.NullInt64
}

// Equal reports whether nothing differs.
func (s Stored) Equal(other Stored) bool {
	return s.factor == other.factor && slices.Equal(s.codes, other.codes)
}

// Confirmed reports whether it is asked for.
func (s Stored) Confirmed() bool { return s.confirmedAt.Valid }

// SameSecret reports whether the same app answers for both, or none for either.
func (s Stored) SameSecret(other Stored) bool {
	return s.Confirmed() == other.Confirmed() && (!s.Confirmed() || s.sealed == other.sealed)
}

// ReadAll reads the second factors of all people, by person.
func ReadAll(ctx context.Context, r database.Reader) (map[string]Stored, error) {
	all := map[string]Stored{}
	_, err := database.Collect(ctx, r, func(s database.Scanner) (none struct{}, err error) {
		var userID string
		var f factor
		err = s.Scan(&userID, &f.sealed, &f.orgID, &f.createdAt, &f.confirmedAt, &f.lastStep, &f.failures,
			&f.failingSince)
		all[userID] = Stored{factor: f}
		return none, err
	}, `SELECT user_id, sealed, org_id, created_at, confirmed_at, last_step, failures, failing_since FROM second_factor`)
	if err != nil {
		return nil, database.Wrap(err, "read the second factors")
	}
	_, err = database.Collect(ctx, r, func(s database.Scanner) (none struct{}, err error) {
		var userID string
		var c code
		err = s.Scan(&userID, &c.hash, &c.usedAt)
		of := all[userID]
		of.codes = append(of.codes, c)
		all[userID] = of
		return none, err
	}, `SELECT user_id, hash, used_at FROM recovery_code ORDER BY hash`)
	return all, database.Wrap(err, "read the recovery codes")
}

// Replace gives a person this factor in place of the one that they have; the zero value takes it away.
func Replace(ctx context.Context, tx *database.Tx, userID string, s Stored) error {
	if err := Remove(ctx, tx, userID); err != nil {
		return err
	}
	if s.sealed == "" {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO second_factor (user_id, sealed, org_id, created_at, confirmed_at, last_step, failures, failing_since)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		userID, []byte(s.sealed), s.orgID, s.createdAt, s.confirmedAt, s.lastStep, s.failures, s.failingSince)
	rows := make([][]any, len(s.codes))
	for i, c := range s.codes {
		rows[i] = []any{[]byte(c.hash), userID, c.usedAt}
	}
	if err == nil {
		err = tx.Insert(ctx, `INSERT INTO recovery_code (hash, user_id, used_at)`, rows, ``)
	}
	return database.Wrap(err, "store the second factor of %s", userID)
}
