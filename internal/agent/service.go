package agent

import (
	"context"
	"encoding/base64"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// What the audit log says of agents.
const (
	registered      = "agent.registered"
	proposed        = "agent.proposed"
	updated         = "agent.updated"
	statusChanged   = "agent.status_changed"
	settingsChanged = "agent.settings_changed"
)

// Sources are what the registry needs of other areas.
type Sources struct {
	// Role is a person's role in an organization now; empty: no member.
	Role func(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error)
	// MissingKey is the first id that is no key of the organization; empty: all are.
	MissingKey func(ctx context.Context, r database.Reader, orgID string, ids []string) (string, error)
	// MadeFrom are some keys of an organization and all that came from them.
	MadeFrom func(ctx context.Context, r database.Reader, orgID string, ids []string) ([]string, error)
	// FindingKinds are those that a trip may count.
	FindingKinds []string
	// Findings counts what was found in an organization after a time, of some kinds.
	Findings func(ctx context.Context, orgID string, kinds []string, after time.Time) ([]Found, error)
	// Spent is what an agent's id has cost since a time, in 10^-9 US dollars.
	Spent func(ctx context.Context, orgID, agentID string, since time.Time) (int64, error)
	// Certified is until when a certificate proves that its holder is an agent; false: it does not. Nil: none does.
	Certified func(ctx context.Context, orgID, certificateID, agentID string) (time.Time, bool, error)
	// LeaseKey finds the public key that leases are signed with.
	LeaseKey LeaseKey
	// Tripped notifies people of a trip, within its change; nil: nobody is notified.
	Tripped func(ctx context.Context, tx *database.Tx, orgID string, stop Stop) error
	// Plans are the latest plans of agents that have not ended by themselves, by the agent's id.
	Plans func(ctx context.Context, r database.Reader, orgID string, agentIDs []string) (map[string]Plan, error)
	// HasPlan reports whether an id is that of a plan of an organization. Nil: every id is taken for one.
	HasPlan func(ctx context.Context, r database.Reader, orgID, id string) (bool, error)
	// IsDelegate reports whether something was delegated to an agent. Nil: nothing was.
	IsDelegate func(ctx context.Context, r database.Reader, orgID, agentID string) (bool, error)
	// Lists reports whether the registry of MCP servers has a server, and a tool, of one of these names, in any case of
	// their letters. No names: whichever. Nil: it has none.
	Lists func(ctx context.Context, r database.Reader, orgID string, servers, tools []string) (bool, error)
	// PlansEnd is when the last live plan ends of a holder; nil: there is none.
	PlansEnd func(ctx context.Context, r database.Reader, orgID string, of PlanHolder) (*time.Time, error)
	// Suspended notifies people of an agent that was suspended, by a person or because its owner left, within that
	// change; nil: nobody is notified.
	Suspended func(ctx context.Context, tx *database.Tx, orgID string, a Agent, by principal.Principal) error
	// Killed notifies people of what a person stopped, within that change; nil: nobody is notified.
	Killed func(ctx context.Context, tx *database.Tx, orgID string, stop Stop) error
}

// Service registers agents and says what decisions must know of them. Make one per
// process: all requests share what it has seen.
type Service struct {
	db      *database.DB
	log     *audit.Log
	sources Sources
	seen    *seen
	looks   *looks
}

// New makes a Service. It starts nothing: the app calls Flush and Prune.
func New(db *database.DB, log *audit.Log, sources Sources) *Service {
	return &Service{
		db:      db,
		log:     log,
		sources: sources,
		seen:    newSeen(),
		looks:   newLooks(db.Now()),
	}
}

func (s *Service) write(
	ctx context.Context, orgID string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(orgID)}, Do: do})
}

// record appends to the organization's log what is said about an agent.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, by principal.Principal, orgID, action string, a Agent,
) error {
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(orgID), Action: action, Actor: by,
		Subject: audit.Subject{Type: "agent", ID: a.ID}, Payload: a.payload(),
	})
	return err
}

// payload is what entries say of the agent.
func (a Agent) payload() map[string]any {
	payload := map[string]any{
		"name": a.Name, "owner": a.OwnerID, "product": a.Product, "environment": a.Environment,
		"description": a.Description, "keys": orEmpty(a.Keys), "intentRequired": a.IntentRequired,
		"status": string(a.Status),
	}
	if a.ProofsOptional {
		payload["proofsOptional"] = true
	}
	if !a.Trips.IsZero() {
		payload["trips"] = a.Trips
	}
	if a.SuspendedFor != "" {
		payload["suspendedFor"] = a.SuspendedFor
	}
	if len(a.PublicKey) > 0 {
		payload["publicKey"] = base64.StdEncoding.EncodeToString(a.PublicKey)
	}
	return payload
}

func orEmpty(ids []string) []string {
	if ids == nil {
		return []string{}
	}
	return ids
}
