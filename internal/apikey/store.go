package apikey

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// columns are those scanKey reads, of api_key as k.
const columns = `
	k.id, k.org_id, k.owner_id, k.name, k.environment, k.product, k.scopes, k.prefix, k.created_at, k.expires_at,
	k.last_used_at, k.revoked_at, k.limited, k.hidden, k.handed_over_at, k.next_expires_at`

func scanKey(s database.Scanner) (Key, error) { return scanKeyAnd(s) }

// scanKeyAnd reads columns, and more after them.
func scanKeyAnd(s database.Scanner, more ...any) (k Key, err error) {
	var scopes string
	err = s.Scan(append([]any{
		&k.ID, database.ToText(&k.OrgID), &k.OwnerID, &k.Name, &k.Environment, &k.Product, &scopes, &k.Prefix,
		database.ToTime(&k.CreatedAt), database.ToOptionalTime(&k.ExpiresAt), database.ToOptionalTime(&k.LastUsedAt),
		database.ToOptionalTime(&k.RevokedAt), database.ToBool(&k.Limited), database.ToBool(&k.Hidden),
		database.ToOptionalTime(&k.HandedOverAt), database.ToOptionalTime(&k.NextExpiry),
	}, more...)...)
	k.Scopes = splitScopes(scopes)
	return k, err
}

func insert(ctx context.Context, tx *database.Tx, k Key, n NewKey, hash []byte) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO api_key (id, org_id, owner_id, name, environment, product, scopes, prefix, hash, created_at,
			expires_at, limited, made_by, hidden, session_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		k.ID, database.OptionalText(k.OrgID), k.OwnerID, k.Name, string(k.Environment), k.Product,
		joinScopes(k.Scopes, " "), k.Prefix, hash, database.Micros(k.CreatedAt), database.OptionalMicros(k.ExpiresAt),
		database.Bit(k.Limited), database.OptionalText(n.madeBy), database.Bit(k.Hidden),
		database.OptionalText(n.SessionID))
	return database.Wrap(err, "store API key %s", k.ID)
}

// find reads a key of an organization, or one bound to none if orgID is empty. Other
// keys do not exist.
func find(ctx context.Context, r database.Reader, orgID, id string) (Key, error) {
	if !database.IsID(id) {
		return Key{}, notFound()
	}
	k, err := scanKey(r.QueryRow(ctx, `
		SELECT `+columns+`
		FROM api_key k
		WHERE COALESCE(k.org_id, '') = $1 AND k.id = $2`, orgID, id))
	return k, database.OrMissing(err, notFound(), "read API key %s", id)
}

// OrgOf is the organization of a key; empty: it is bound to none. It checks no right:
// the edge needs it to find the caller's role there, and answers a caller without one
// as if the key did not exist.
func (s *Service) OrgOf(ctx context.Context, id string) (orgID string, err error) {
	if !database.IsID(id) {
		return "", notFound()
	}
	err = s.db.QueryRow(ctx, `SELECT org_id FROM api_key WHERE id = $1`, id).Scan(database.ToText(&orgID))
	return orgID, database.OrMissing(err, notFound(), "read the organization of API key %s", id)
}

// OwnerOf is the owner of a key of an organization, revoked or not; empty: there is
// no such key.
func (s *Service) OwnerOf(ctx context.Context, orgID, id string) (ownerID string, err error) {
	err = s.db.QueryRow(ctx, `SELECT owner_id FROM api_key WHERE org_id = $1 AND id = $2`, orgID, id).Scan(&ownerID)
	return ownerID, database.OrMissing(err, nil, "read the owner of API key %s", id)
}

// presentedKey is a key that is being used, with what decides whether it works.
type presentedKey struct {
	Key
	hash            []byte
	orgClosed       bool
	ownerLeft       bool // the owner is no longer a member of the key's organization
	ownerRole       principal.Role
	vouched         bool // the organization's identity provider vouches for the owner
	passwordChanged bool // the owner has set a new password since
	ownerDeleted    bool // the owner has no account any more
}

// findPresented reads a key, whatever its status.
func findPresented(ctx context.Context, r database.Reader, where string, arg any) (p presentedKey, err error) {
	p.Key, err = scanKeyAnd(r.QueryRow(ctx, `
		SELECT `+columns+`,
			k.hash,
			CASE WHEN o.closed_at IS NULL THEN 0 ELSE 1 END,
			CASE WHEN k.org_id IS NOT NULL AND m.user_id IS NULL THEN 1 ELSE 0 END,
			COALESCE(m.role, ''),
			CASE WHEN EXISTS (
				SELECT 1 FROM external_identity e WHERE e.user_id = k.owner_id AND e.org_id = k.org_id
			) THEN 1 ELSE 0 END,
			CASE WHEN k.created_at >= u.terminals_since THEN 0 ELSE 1 END,
			CASE WHEN u.deleted_at IS NULL THEN 0 ELSE 1 END
		FROM api_key k
		JOIN user_account u ON u.id = k.owner_id
		LEFT JOIN organization o ON o.id = k.org_id
		LEFT JOIN organization_member m ON m.org_id = k.org_id AND m.user_id = k.owner_id
		WHERE `+where, arg), &p.hash, database.ToBool(&p.orgClosed), database.ToBool(&p.ownerLeft), &p.ownerRole,
		database.ToBool(&p.vouched), database.ToBool(&p.passwordChanged), database.ToBool(&p.ownerDeleted))
	return p, database.OrMissing(err, notValid(), "look up an API key")
}

// filter says whose keys a list holds.
type filter struct {
	orgID    string // empty: those bound to none
	anywhere bool   // of every organization and of none; needs an owner
	ownerID  string // empty: of everyone, and only together with orgID
}

// scope binds cursors to the filter.
func (f filter) scope() string { return fmt.Sprintf("%s/%s/%t", f.orgID, f.ownerID, f.anywhere) }

// selectKeys reads up to limit keys after a position, newest first.
func selectKeys(ctx context.Context, r database.Reader, f filter, after page.Cursor, limit int) ([]Key, error) {
	var where database.Where
	switch {
	case f.anywhere:
	case f.orgID == "":
		where.And(`k.org_id IS NULL`)
	default:
		where.And(`k.org_id = ?`, f.orgID)
	}
	if f.ownerID != "" || f.anywhere || f.orgID == "" {
		where.And(`k.owner_id = ?`, f.ownerID)
	}
	if !after.IsZero() {
		where.And(`(k.created_at, k.id) < (?, ?)`, after.Micros, after.ID)
	}
	query := `SELECT ` + columns + ` FROM api_key k` + where.String() +
		`ORDER BY k.created_at DESC, k.id DESC LIMIT ` + where.Bind(limit)
	keys, err := database.Collect(ctx, r, scanKey, query, where.Args...)
	return keys, database.Wrap(err, "list API keys")
}

// markRevoked revokes a key found before in the same transaction. It reports whether
// the key was not revoked yet.
func markRevoked(ctx context.Context, tx *database.Tx, id string) (bool, error) {
	changed, err := tx.Exec(ctx, `
		UPDATE api_key
		SET revoked_at = $2
		WHERE id = $1 AND revoked_at IS NULL`, id, database.Micros(tx.Now()))
	return changed == 1, database.Wrap(err, "revoke API key %s", id)
}

// updateLastUsed writes the last uses of keys, unless a later one is stored.
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
	ids, err := database.Collect(ctx, r, database.Column[string],
		`SELECT id FROM api_key WHERE revoked_at IS NOT NULL`)
	return ids, database.Wrap(err, "list revoked keys")
}

// RevokeAgain revokes keys that a restore has brought back, and counts them.
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
