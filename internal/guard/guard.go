// Package guard stores what proxies in processes of their own have asked to have decided, and gives them the secret of
// a server at most once for each allow.
//
// A decision is stored here in the transaction that records it. A secret is released only for an allow that is fresh,
// to the key that it was made for, and the log says so: whoever has taken over a proxy gets no more secrets than it has
// calls of agents, and each of them can be found.
package guard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/obligation"
	"writ/internal/principal"
	"writ/internal/secret"
)

const (
	// Fresh is how long after an allow its secret may be asked for.
	Fresh = time.Minute
	// kept is how long decisions stay: a proxy may report late what came of a call.
	kept = 7 * 24 * time.Hour
)

// ActionReleased is what the audit log says of a secret that was given to a proxy.
const ActionReleased = "mcp.secret_released"

const allow = "allow"

// Decision is one that a proxy has asked for.
type Decision struct {
	ID, OrgID, KeyID, UserID, AgentID string
	Verdict                           string
	ServerID, Server                  string // an empty id: the server cannot be reached
	Registered                        time.Time
	ApprovalID                        string
	Obligations                       *obligation.Set // nil: none
	// ReportHash is the hash of the token with which what came of the call is reported: its key may have ended by then.
	ReportHash []byte
	At         time.Time
	Released   bool // the secret was given
}

// Service is the area's one entry.
type Service struct {
	db  *database.DB
	log *audit.Log
}

// New makes the service.
func New(db *database.DB, log *audit.Log) *Service { return &Service{db: db, log: log} }

// Record stores a decision, within the transaction that records it in the log.
func (s *Service) Record(ctx context.Context, tx *database.Tx, d Decision) error {
	obligations := ""
	if !d.Obligations.IsZero() {
		text, err := json.Marshal(d.Obligations)
		if err != nil {
			return fmt.Errorf("write the obligations of decision %s: %w", d.ID, err)
		}
		obligations = string(text)
	}
	_, err := tx.Prepared().Exec(ctx, `
		INSERT INTO proxy_decision (decision_id, org_id, key_id, user_id, agent_id, verdict, server_id, server,
			registered, approval_id, obligations, decided_at, report_hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		d.ID, d.OrgID, d.KeyID, d.UserID, d.AgentID, d.Verdict, d.ServerID, d.Server, database.Micros(d.Registered),
		d.ApprovalID, obligations, database.Micros(tx.Now()), d.ReportHash)
	return database.Wrap(err, "store a decision of a proxy")
}

func noSuchDecision() error {
	return fault.New(fault.NotFound, "no such decision was made for this key by way of a proxy")
}

// Find finds a decision that was made for the caller's key. Those of other keys do not exist for it.
func (s *Service) Find(ctx context.Context, p principal.Principal, id string) (Decision, error) {
	return find(ctx, s.db, p, id)
}

func find(ctx context.Context, r database.Reader, p principal.Principal, id string) (Decision, error) {
	if p.Kind != principal.Key || p.OrgID == "" || p.KeyID == "" {
		return Decision{}, noSuchDecision()
	}
	d, err := read(ctx, r, id)
	if err == nil && (d.OrgID != p.OrgID || d.KeyID != p.KeyID) {
		return Decision{}, noSuchDecision()
	}
	return d, err
}

// FindReported finds the decision that a token is for, with which what came of its call is reported. Only the proxy
// that asked for the decision has the token.
func (s *Service) FindReported(ctx context.Context, id, token string) (Decision, error) {
	d, err := read(ctx, s.db, id)
	if err == nil && !secret.SameHash(secret.Hash(token), d.ReportHash) {
		return Decision{}, noSuchDecision()
	}
	return d, err
}

// For is the key that the decision was made for.
func (d *Decision) For() principal.Principal {
	return principal.Principal{Kind: principal.Key, KeyID: d.KeyID, UserID: d.UserID, OrgID: d.OrgID}
}

func read(ctx context.Context, r database.Reader, id string) (d Decision, err error) {
	if !database.IsID(id) {
		return Decision{}, noSuchDecision()
	}
	var obligations string
	var released sql.NullInt64
	err = r.QueryRow(ctx, `
		SELECT decision_id, org_id, key_id, user_id, agent_id, verdict, server_id, server, registered, approval_id,
			obligations, decided_at, report_hash, released_at
		FROM proxy_decision
		WHERE decision_id = $1`, id).Scan(&d.ID, &d.OrgID, &d.KeyID, &d.UserID,
		&d.AgentID, &d.Verdict, &d.ServerID, &d.Server, database.ToTime(&d.Registered), &d.ApprovalID, &obligations,
		database.ToTime(&d.At), &d.ReportHash, &released)
	if errors.Is(err, sql.ErrNoRows) {
		return Decision{}, noSuchDecision()
	}
	if err != nil {
		return Decision{}, database.Wrap(err, "find a decision of a proxy")
	}
	d.Released = released.Valid
	if obligations != "" {
		d.Obligations = &obligation.Set{}
		if err := json.Unmarshal([]byte(obligations), d.Obligations); err != nil {
			return Decision{}, fmt.Errorf("read the obligations of decision %s: %w", d.ID, err)
		}
	}
	return d, nil
}

// Release notes that the secret of the server is given for a decision, and records it. It refuses what is no fresh
// allow, and whatever was asked for before. An error means that nothing may be given.
func (s *Service) Release(ctx context.Context, p principal.Principal, id string) error {
	change := database.Change{Logs: []string{audit.LogOf(p.OrgID)}}
	change.Do = func(ctx context.Context, tx *database.Tx) error {
		d, err := find(ctx, tx, p, id)
		if err != nil {
			return err
		}
		if err := d.Releasable(tx.Now()); err != nil {
			return err
		}
		rows, err := tx.Exec(ctx, `
			UPDATE proxy_decision
			SET released_at = $2
			WHERE decision_id = $1 AND released_at IS NULL`, d.ID, database.Micros(tx.Now()))
		if err != nil {
			return database.Wrap(err, "note that a secret was given to a proxy")
		}
		if rows != 1 {
			return takenBefore()
		}
		_, err = s.log.Append(ctx, tx, audit.Entry{
			Log:         audit.LogOf(d.OrgID),
			Action:      ActionReleased,
			Actor:       p,
			Subject:     audit.Subject{Type: "mcp_server", ID: d.ServerID},
			Observation: true,
			Payload:     map[string]any{"decision": d.ID, "server": d.Server, "agent": d.AgentID},
		})
		return err
	}
	return s.db.Write(ctx, change)
}

func takenBefore() error {
	return fault.New(fault.Conflict, "the secret was given for this decision before: it is given once")
}

// Releasable refuses to give the secret for what is no allow, no longer fresh, or was used before.
func (d *Decision) Releasable(now time.Time) error {
	switch {
	case d.Verdict != allow || d.ServerID == "":
		return fault.New(fault.Forbidden, "the decision does not allow the call: no secret is given for it")
	case d.Released:
		return takenBefore()
	case now.Sub(d.At) > Fresh:
		return fault.New(fault.Forbidden, "the decision is older than %s: have the call decided again", Fresh)
	}
	return nil
}

// Prune removes decisions that nobody can ask for any more.
func (s *Service) Prune(ctx context.Context) error {
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM proxy_decision WHERE decided_at < $1`,
			database.Micros(tx.Now().Add(-kept)))
		return database.Wrap(err, "remove old decisions of proxies")
	}})
}
