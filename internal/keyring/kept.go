package keyring

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Sealed is a key as a database stores it.
type Sealed struct {
	id        string
	purpose   Purpose
	public    []byte
	sealed    []byte
	createdAt int64
	retiredAt sql.NullInt64
}

// ReadSealed reads every key of a purpose from a database that a restore replaces, unopened.
func ReadSealed(ctx context.Context, r database.Reader, purpose Purpose) ([]Sealed, error) {
	return database.Collect(ctx, r, func(row database.Scanner) (s Sealed, err error) {
		err = row.Scan(&s.id, &s.purpose, &s.public, &s.sealed, &s.createdAt, &s.retiredAt)
		return s, err
	}, `
		SELECT id, purpose, public, sealed, created_at, retired_at
		FROM signing_key
		WHERE purpose = $1
		ORDER BY created_at, id`, purpose)
}

// Keep puts keys of a purpose that a restore would lose into the restored database: what they signed still verifies,
// and the newest of all goes on signing, so that no restore undoes a rotation. Only a key that the master key opens is
// kept: nobody who can only write a database adds one.
func Keep(
	ctx context.Context, db *database.DB, sealer *secret.Sealer, purpose Purpose, replaced []Sealed,
) (kept []Key, err error) {
	err = db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		kept = nil
		for _, s := range replaced {
			key, err := s.open(sealer)
			if err != nil || key.Purpose != purpose {
				continue // sealed by another master key, or altered
			}
			added, err := insertKept(ctx, tx, s)
			if err != nil {
				return err
			}
			if added {
				kept = append(kept, key)
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return signWithNewest(ctx, tx, purpose)
	}})
	if err != nil {
		return nil, fmt.Errorf("keep the signing keys for %s: %w", purpose, err)
	}
	return kept, nil
}

// CheckDumped is Check for the rows of a backup that was not loaded yet.
func CheckDumped(rows []map[string]string, sealer *secret.Sealer) error {
	var newest Sealed
	for _, row := range rows {
		s, err := dumped(row)
		if err != nil {
			return fmt.Errorf("signing key %q: %w", row["id"], err)
		}
		if newest.id == "" || cmp.Or(cmp.Compare(s.createdAt, newest.createdAt), cmp.Compare(s.id, newest.id)) > 0 {
			newest = s
		}
	}
	if newest.id == "" {
		return nil
	}
	_, err := newest.open(sealer)
	return explained(err)
}

// dumped reads a key as PostgreSQL writes it into a backup: bytes are \x and hexadecimal digits.
func dumped(row map[string]string) (Sealed, error) {
	s := Sealed{id: row["id"], purpose: Purpose(row["purpose"])}
	var errs [3]error
	s.public, errs[0] = hex.DecodeString(strings.TrimPrefix(row["public"], `\x`))
	s.sealed, errs[1] = hex.DecodeString(strings.TrimPrefix(row["sealed"], `\x`))
	s.createdAt, errs[2] = strconv.ParseInt(row["created_at"], 10, 64)
	return s, errors.Join(errs[:]...)
}

// open opens the seal of a key.
func (s *Sealed) open(sealer *secret.Sealer) (Key, error) {
	key := Key{ID: s.id, Purpose: s.purpose, Public: s.public}
	if s.retiredAt.Valid {
		key.RetiredAt = database.Time(s.retiredAt.Int64)
	}
	return key, key.open(sealer, s.sealed)
}

// insertKept inserts a key as a retired one, unless it is there.
func insertKept(ctx context.Context, tx *database.Tx, s Sealed) (bool, error) {
	retired := database.Micros(tx.Now())
	if s.retiredAt.Valid {
		retired = s.retiredAt.Int64
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO signing_key (id, purpose, public, sealed, created_at, retired_at)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO NOTHING`, s.id, s.purpose, s.public, s.sealed, s.createdAt, retired)
	return n > 0, err
}

// signWithNewest has the newest key of a purpose sign, and no other.
func signWithNewest(ctx context.Context, tx *database.Tx, purpose Purpose) error {
	var newest string
	err := tx.QueryRow(ctx, `SELECT id FROM signing_key WHERE purpose = $1 ORDER BY created_at DESC, id DESC LIMIT 1`,
		purpose).Scan(&newest)
	if err != nil {
		return fmt.Errorf("find the newest key: %w", err)
	}
	_, err = tx.Exec(ctx, `
		UPDATE signing_key SET retired_at = $3 WHERE purpose = $1 AND id <> $2 AND retired_at IS NULL`,
		purpose, newest, database.Micros(tx.Now()))
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE signing_key SET retired_at = NULL WHERE id = $1`, newest)
	}
	return database.Wrap(err, "sign with the newest key")
}

// RecordKept records in the System log which keys a restore has kept.
func RecordKept(ctx context.Context, tx *database.Tx, log *audit.Log, kept []Key) error {
	for _, key := range kept {
		_, err := log.Append(ctx, tx, audit.Entry{
			Log: audit.System, Action: "signing_key.kept", Actor: principal.Operator(),
			Subject: audit.Subject{Type: "signing_key", ID: key.ID},
			Payload: map[string]any{"purpose": key.Purpose, "public": fmt.Sprintf("%x", key.Public)},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
