package apikey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
)

// columns are those scanKey reads, of api_key as k.
const columns = `
	k.id,
	COALESCE(k.org_id, ''),
	k.owner_id,
	k.name,
	k.environment,
	k.product,
	k.scopes,
	k.prefix,
	k.created_at,
	k.expires_at,
	k.last_used_at,
	k.revoked_at,
	k.limited`

// scanKey reads columns, and more after them.
func scanKey(s database.Scanner, more ...any) (Key, error) {
	var k Key
	var scopes string
	var created, limited int64
	var expires, used, revoked sql.NullInt64
	err := s.Scan(append([]any{
		&k.ID, &k.OrgID, &k.OwnerID, &k.Name, &k.Environment, &k.Product, &scopes, &k.Prefix,
		&created, &expires, &used, &revoked, &limited,
	}, more...)...)
	k.Scopes = splitScopes(scopes)
	k.CreatedAt = database.Time(created)
	k.ExpiresAt = database.OptionalTime(expires)
	k.LastUsedAt = database.OptionalTime(used)
	k.RevokedAt = database.OptionalTime(revoked)
	k.Limited = limited == 1
	return k, err
}

func insert(ctx context.Context, tx *database.Tx, k Key, hash []byte) error {
	limited := 0
	if k.Limited {
		limited = 1
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO api_key (id, org_id, owner_id, name, environment, product, scopes, prefix, hash, created_at, expires_at, limited)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		k.ID, database.OptionalText(k.OrgID), k.OwnerID, k.Name, string(k.Environment), k.Product,
		joinScopes(k.Scopes, " "), k.Prefix, hash, database.Micros(k.CreatedAt), database.OptionalMicros(k.ExpiresAt),
		limited)
	if err != nil {
		return fmt.Errorf("store API key %s: %w", k.ID, err)
	}
	return nil
}

// find reads a key of an organization, or one bound to none where orgID is
// empty. Any other key does not exist.
func find(ctx context.Context, r database.Reader, orgID, id string) (Key, error) {
	if !database.IsID(id) {
		return Key{}, notFound()
	}
	k, err := scanKey(r.QueryRow(ctx, `
		SELECT `+columns+`
		FROM api_key k
		WHERE COALESCE(k.org_id, '') = $1 AND k.id = $2`, orgID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Key{}, notFound()
	}
	if err != nil {
		return Key{}, fmt.Errorf("read API key %s: %w", id, err)
	}
	return k, nil
}

// findOrg reads the organization of a key, empty where it is bound to none.
func findOrg(ctx context.Context, r database.Reader, id string) (orgID string, err error) {
	if !database.IsID(id) {
		return "", notFound()
	}
	err = r.QueryRow(ctx, `SELECT COALESCE(org_id, '') FROM api_key WHERE id = $1`, id).Scan(&orgID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", notFound()
	}
	if err != nil {
		return "", fmt.Errorf("read the organization of API key %s: %w", id, err)
	}
	return orgID, nil
}

// presentedKey is a key found by its hash.
type presentedKey struct {
	Key
	hash        []byte
	orgClosed   bool
	ownerIsGone bool // no longer a member of the key's organization
	isVouched   bool // the organization's provider has a word for the owner
	isTurnedOut bool // the owner has set another password since
}

// withStanding are the columns of a key and its standing, and where they are.
const withStanding = columns + `,
			k.hash,
			o.closed_at,
			m.user_id,
			CASE WHEN EXISTS (SELECT 1 FROM external_identity e WHERE e.user_id = k.owner_id AND e.org_id = k.org_id) THEN 1 ELSE 0 END,
			CASE WHEN k.created_at >= u.terminals_since THEN 0 ELSE 1 END
		FROM api_key k
		JOIN user_account u ON u.id = k.owner_id
		LEFT JOIN organization o ON o.id = k.org_id
		LEFT JOIN organization_member m ON m.org_id = k.org_id AND m.user_id = k.owner_id`

func scanPresented(row database.Scanner) (p presentedKey, err error) {
	var closed sql.NullInt64
	var member sql.NullString
	var vouched, turnedOut int64
	p.Key, err = scanKey(row, &p.hash, &closed, &member, &vouched, &turnedOut)
	p.orgClosed, p.ownerIsGone, p.isVouched = closed.Valid, p.OrgID != "" && !member.Valid, vouched == 1
	p.isTurnedOut = turnedOut == 1
	return p, err
}

// findByHash reads the key a caller presents, whatever its state. It is
// sql.ErrNoRows where there is none.
func findByHash(ctx context.Context, r database.Reader, hash keyHash) (presentedKey, error) {
	return scanPresented(r.QueryRow(ctx, `
		SELECT `+withStanding+`
		WHERE k.hash = $1`, hash[:]))
}

// filter says whose keys a list shows.
type filter struct {
	orgID    string // empty: those bound to none
	anywhere bool   // of every organization and of none; needs an owner
	ownerID  string // empty: of everyone, and only together with orgID
}

// scope names the list in its cursors.
func (f filter) scope() string { return fmt.Sprintf("%s/%s/%t", f.orgID, f.ownerID, f.anywhere) }

// selectKeys reads up to limit keys after a position, newest first.
func selectKeys(ctx context.Context, r database.Reader, f filter, after page.Cursor, limit int) ([]Key, error) {
	var where []string
	var args []any
	and := func(condition string, values ...any) {
		places := make([]any, len(values))
		for i, value := range values {
			args = append(args, value)
			places[i] = len(args)
		}
		where = append(where, fmt.Sprintf(condition, places...))
	}
	switch {
	case f.anywhere:
	case f.orgID == "":
		and(`k.org_id IS NULL`)
	default:
		and(`k.org_id = $%d`, f.orgID)
	}
	if f.ownerID != "" || f.anywhere || f.orgID == "" {
		and(`k.owner_id = $%d`, f.ownerID)
	}
	if !after.IsZero() {
		and(`(k.created_at, k.id) < ($%d, $%d)`, after.Micros, after.ID)
	}
	args = append(args, limit)
	keys, err := database.Collect(ctx, r, func(s database.Scanner) (Key, error) { return scanKey(s) }, `
		SELECT `+columns+`
		FROM api_key k
		WHERE `+strings.Join(where, ` AND `)+`
		ORDER BY k.created_at DESC, k.id DESC
		LIMIT `+fmt.Sprintf(`$%d`, len(args)), args...)
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	return keys, nil
}

// markRevoked revokes a key found before in the same transaction. It is false
// when the key is revoked already.
func markRevoked(ctx context.Context, tx *database.Tx, id string) (bool, error) {
	changed, err := tx.Exec(ctx, `
		UPDATE api_key
		SET revoked_at = $2
		WHERE id = $1 AND revoked_at IS NULL`, id, database.Micros(tx.Now()))
	if err != nil {
		return false, fmt.Errorf("revoke API key %s: %w", id, err)
	}
	return changed == 1, nil
}

// updateLastUsed writes the instants of the ids, and never an earlier one than
// stands there.
func updateLastUsed(ctx context.Context, tx *database.Tx, ids []string, at map[string]time.Time) error {
	for _, id := range ids {
		_, err := tx.Exec(ctx, `
			UPDATE api_key
			SET last_used_at = $2
			WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, id, database.Micros(at[id]))
		if err != nil {
			return fmt.Errorf("write the last use of API key %s: %w", id, err)
		}
	}
	return nil
}

func notFound() error { return fault.New(fault.NotFound, "no such API key") }

// RevokedIDs lists the keys that are revoked.
func RevokedIDs(ctx context.Context, r database.Reader) ([]string, error) {
	ids, err := database.Collect(ctx, r, func(s database.Scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `SELECT id FROM api_key WHERE revoked_at IS NOT NULL`)
	if err != nil {
		return nil, fmt.Errorf("list revoked keys: %w", err)
	}
	return ids, nil
}

// RevokeAgain revokes keys that a restore has brought back, and tells how many
// it had.
func RevokeAgain(ctx context.Context, tx *database.Tx, ids []string) (revoked int, err error) {
	for _, id := range ids {
		changed, err := markRevoked(ctx, tx, id)
		if err != nil {
			return 0, err
		}
		if changed {
			revoked++
		}
	}
	return revoked, nil
}
