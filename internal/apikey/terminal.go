package apikey

import (
	"context"
	"fmt"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// A terminal's key stands for a person's sign-in and ends with it, and so does that of a consent. The keys of agents
// belong to the organization and keep working. The functions below run within a
// change of another area, which declares the organization's log and calls Forget
// afterwards.

// ofTerminals selects the live keys of terminals and consents of an organization, with the roles of
// their owners.
const ofTerminals = `
	SELECT ` + columns + `
	FROM api_key k
	LEFT JOIN organization_member m ON m.org_id = k.org_id AND m.user_id = k.owner_id
	WHERE k.org_id = $1 AND k.revoked_at IS NULL
		AND (k.hidden = 1 OR ' ' || k.scopes || ' ' LIKE '% cli %')`

// EndVouched revokes the terminals' keys of everyone, or of one person, whom the
// organization's identity provider vouched for when the key was made.
func (s *Service) EndVouched(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, userID string,
) error {
	return s.end(ctx, tx, actor,
		ofTerminals+` AND k.limited = 1 AND ($2 = '' OR k.owner_id = $2) ORDER BY k.created_at, k.id`, orgID, userID)
}

// EndUnvouched revokes the terminals' keys of everyone else but owners: the
// organization requires them to sign in with its identity provider.
func (s *Service) EndUnvouched(ctx context.Context, tx *database.Tx, actor principal.Principal, orgID string) error {
	return s.end(ctx, tx, actor,
		ofTerminals+` AND k.limited = 0 AND COALESCE(m.role, '') <> $2 ORDER BY k.created_at, k.id`, orgID,
		string(principal.Owner))
}

// Forget empties the cache, so that every key is looked up again.
func (s *Service) Forget() { s.cache.empty() }

func (s *Service) end(
	ctx context.Context, tx *database.Tx, actor principal.Principal, query string, args ...any,
) error {
	keys, err := database.Collect(ctx, tx, scanKey, query, args...)
	if err != nil {
		return fmt.Errorf("find the keys of terminals: %w", err)
	}
	return s.revokeAll(ctx, tx, actor, keys)
}

func (s *Service) revokeAll(ctx context.Context, tx *database.Tx, actor principal.Principal, keys []Key) error {
	for _, k := range keys {
		if _, err := markRevoked(ctx, tx, k.ID); err != nil {
			return err
		}
		if err := s.record(ctx, tx, actor, revoked, k, nil); err != nil {
			return err
		}
	}
	return nil
}

// Terminals are the keys of terminals, for whoever ends sessions.
type Terminals struct{ *Service }

// LogsOf are the logs in which ending a session records what becomes of its keys, sorted.
func (t Terminals) LogsOf(ctx context.Context, tx *database.Tx, userID, sessionID string) ([]string, error) {
	keys, err := ofSessions(ctx, tx, userID)
	var logs []string
	for _, k := range keys[sessionID] {
		logs = append(logs, audit.LogOf(k.OrgID))
	}
	slices.Sort(logs)
	return slices.Compact(logs), err
}

// End revokes the live keys of a session's terminal, within a change that declares LogsOf.
func (t Terminals) End(
	ctx context.Context, tx *database.Tx, actor principal.Principal, userID, sessionID string,
) error {
	keys, err := ofSessions(ctx, tx, userID)
	if err != nil {
		return err
	}
	return t.revokeAll(ctx, tx, actor, keys[sessionID])
}

// OfSessions gives the live keys that end with each session of a person, the oldest first.
func (s *Service) OfSessions(ctx context.Context, userID string) (map[string][]Key, error) {
	return ofSessions(ctx, s.db, userID)
}

// ofSessions reads the keys that terminals got beside sessions, and those of terminals that these made, by switching to
// another organization, or were replaced by. The keys that they made for agents go on, as after a new password.
func ofSessions(ctx context.Context, r database.Reader, userID string) (map[string][]Key, error) {
	of := map[string][]Key{}
	_, err := database.Collect(ctx, r, func(row database.Scanner) (none struct{}, err error) {
		var session string
		k, err := scanKeyAnd(row, &session)
		of[session] = append(of[session], k)
		return none, err
	}, `
		WITH RECURSIVE line (id, session_id) AS (
			SELECT id, session_id FROM api_key WHERE owner_id = $1 AND session_id IS NOT NULL
			UNION
			SELECT k.id, l.session_id FROM api_key k JOIN line l ON k.made_by = l.id
		)
		SELECT `+columns+`, l.session_id
		FROM api_key k
		JOIN line l ON l.id = k.id
		WHERE k.revoked_at IS NULL AND ' ' || k.scopes || ' ' LIKE '% cli %'
		ORDER BY k.created_at, k.id`, userID)
	return of, database.Wrap(err, "read the keys of the terminals of %s", userID)
}
