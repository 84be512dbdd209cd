package agent

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"fmt"
	"time"

	"writ/internal/agent/lease"
	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Limits of leases.
const (
	MaxLease      = 5 * time.Minute
	MaxLeaseTools = 100 // of one lease
	maxLeases     = 100 // of a key that have not ended
	leasesAMinute = 100 // that a key gets
	listedLeases  = 1_000
	forgetLeases  = 90 * 24 * time.Hour
)

// Lease is a lease as it was given.
type Lease struct {
	lease.Lease
	Index int64 // of its entry in the log
}

// LeaseLife is how long leases of an organization may be; zero: none are given.
func (s *Service) LeaseLife(ctx context.Context, orgID string) (time.Duration, error) {
	settings, err := readSettings(ctx, s.db, orgID)
	return settings.LeaseLife, err
}

// AddLease stores and records a lease within a change of the organization's log. The caller
// has judged it. The entry is an observation: a lease changes nothing for decisions.
func (s *Service) AddLease(
	ctx context.Context, tx *database.Tx, by principal.Principal, l *lease.Lease,
) (index int64, err error) {
	if err := refuseManyLeases(ctx, tx, l.KeyID); err != nil {
		return 0, err
	}
	entry, err := s.log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(l.OrgID), Action: ledger.Leased, Actor: by,
		Subject:     audit.Subject{Type: "lease", ID: l.ID},
		Decision:    audit.Decision{Agent: l.AgentID}, // which is found, and followed, after an erasure too
		Payload:     map[string]any{"agentId": l.AgentID, "tools": l.Tools, "expiresAt": l.Expires.Unix()},
		Observation: true,
	})
	if err != nil {
		return 0, err
	}
	if err := s.Saw(ctx, tx, Sighting{l.OrgID, l.AgentID, l.KeyID}, ""); err != nil {
		return 0, err
	}
	return entry.Index, insertLease(ctx, tx, &Lease{*l, entry.Index})
}

// refuseManyLeases bounds the leases of a key: those that have not ended, and those of a minute.
func refuseManyLeases(ctx context.Context, tx *database.Tx, keyID string) error {
	now := tx.Now()
	var live, lately int
	err := tx.QueryRow(ctx, `
		SELECT COUNT(CASE WHEN expires_at > $2 THEN 1 END), COUNT(CASE WHEN issued_at > $3 THEN 1 END)
		FROM agent_lease
		WHERE key_id = $1 AND expires_at > $3`,
		keyID, database.Micros(now), database.Micros(now.Add(-time.Minute))).Scan(&live, &lately)
	switch {
	case err != nil:
		return fmt.Errorf("count the leases of a key: %w", err)
	case live >= maxLeases:
		return fault.New(fault.Conflict, "this key has %d leases that have not ended: use one of them", live)
	case lately >= leasesAMinute:
		refusal := fault.New(fault.TooMany, "this key got %d leases within a minute: use one of them", lately)
		refusal.RetryAfter = time.Minute
		return refusal
	}
	return nil
}

// Leases are those of the caller's organization that have not ended, the last to end first.
func (s *Service) Leases(ctx context.Context, p principal.Principal) ([]Lease, error) {
	if err := requireReader(p); err != nil {
		return nil, err
	}
	return readLeases(ctx, s.db, `l.org_id = $1 AND l.expires_at > $2`, p.OrgID, database.Micros(s.db.Now()))
}

// leasesEnd is when the last lease ends under which a stopped call may still run; nil: none is left.
func leasesEnd(ctx context.Context, tx *database.Tx, orgID string, stop Stop) (*time.Time, error) {
	var end sql.NullInt64
	err := tx.QueryRow(ctx, `
		SELECT MAX(expires_at) FROM agent_lease
		WHERE org_id = $1 AND expires_at > $2 AND $3 <> 'plan'
			AND ($3 NOT IN ('agent', 'key') OR $3 = 'agent' AND agent_id = $4
				OR key_id IN (SELECT key_id FROM agent_stop_key WHERE stop_id = $5))`,
		orgID, database.Micros(tx.Now()), string(stop.Scope), stop.Subject, stop.ID).Scan(&end)
	if err != nil || !end.Valid {
		return nil, database.Wrap(err, "find the leases that are left")
	}
	at := database.Time(end.Int64)
	return &at, nil
}

// LeaseKey finds the public key that leases are signed with, by its id.
type LeaseKey func(ctx context.Context, id string) (ed25519.PublicKey, error)

// PresentedLease is the id of the lease that a client presents, as its id or its text; a problem
// says why it is none.
func (s *Service) PresentedLease(ctx context.Context, orgID, shown string) (id, problem string, err error) {
	if database.IsID(shown) {
		return shown, "", nil
	}
	var away error
	l, err := lease.Verify(shown, func(id string) (ed25519.PublicKey, error) {
		key, err := s.sources.LeaseKey(ctx, id)
		if err != nil && !fault.Is(err, fault.NotFound) {
			away = err
		}
		return key, err
	})
	switch {
	case away != nil:
		return "", "", fmt.Errorf("read the key of a lease: %w", away)
	case err != nil || l.OrgID != orgID:
		return "", "the lease was not given here, or is altered", nil
	}
	return l.ID, "", nil
}

func insertLease(ctx context.Context, tx *database.Tx, l *Lease) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO agent_lease (id, org_id, key_id, agent_id, user_id, position, issued_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		l.ID, l.OrgID, l.KeyID, l.AgentID, l.UserID, l.Index, database.Micros(l.Issued), database.Micros(l.Expires))
	if err != nil {
		return fmt.Errorf("store a lease: %w", err)
	}
	rows := make([][]any, len(l.Tools))
	for i, tool := range l.Tools {
		rows[i] = []any{l.ID, tool.Server, tool.Tool}
	}
	err = tx.Insert(ctx, `INSERT INTO agent_lease_tool (lease_id, server, tool)`, rows, ``)
	return database.Wrap(err, "store the tools of a lease")
}

func readLeases(ctx context.Context, r database.Reader, where string, args ...any) ([]Lease, error) {
	leases, err := database.Collect(ctx, r, func(s database.Scanner) (l Lease, err error) {
		err = s.Scan(&l.ID, &l.OrgID, &l.KeyID, &l.AgentID, &l.UserID, &l.Index, database.ToTime(&l.Issued),
			database.ToTime(&l.Expires))
		return l, err
	}, fmt.Sprintf(`
		SELECT l.id, l.org_id, l.key_id, l.agent_id, l.user_id, l.position, l.issued_at, l.expires_at
		FROM agent_lease l
		WHERE %s
		ORDER BY l.expires_at DESC, l.id LIMIT %d`, where, listedLeases), args...)
	if err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	for i := range leases {
		leases[i].Tools, err = database.Collect(ctx, r, func(s database.Scanner) (t lease.Tool, err error) {
			err = s.Scan(&t.Server, &t.Tool)
			return t, err
		}, `SELECT server, tool FROM agent_lease_tool WHERE lease_id = $1 ORDER BY server, tool`, leases[i].ID)
		if err != nil {
			return nil, fmt.Errorf("read the tools of a lease: %w", err)
		}
	}
	return leases, nil
}

// pruneLeases forgets some leases that ended long ago, and tells how many.
func pruneLeases(ctx context.Context, tx *database.Tx) (gone int64, err error) {
	const old = `(SELECT id FROM agent_lease WHERE expires_at < $1 ORDER BY expires_at, id LIMIT $2)`
	before := database.Micros(tx.Now().Add(-forgetLeases))
	for _, statement := range []string{
		`DELETE FROM agent_lease_use WHERE lease_id IN ` + old, `DELETE FROM agent_lease_tool WHERE lease_id IN ` + old,
		`DELETE FROM agent_lease WHERE id IN ` + old,
	} {
		if gone, err = tx.Exec(ctx, statement, before, pruneSlice); err != nil {
			return 0, fmt.Errorf("forget old leases: %w", err)
		}
	}
	return gone, nil
}
