// Package decision stores decisions about tool calls.
//
// A decision is stored once, as an entry of its organization's audit log. No second
// table repeats it, so that nothing can disagree and every decision costs one row.
// The entry has two parts.
//
//   - The record, which the log proves and nobody can erase: the caller, the call, its
//     plan, the verdict, and the policy, version and rule that gave it.
//   - The payload, which can be erased: arguments, reasons, people.
//
// Append writes a decision in its transaction. Read reads them in the order of the
// log, for projection, reconciliation and replay. Recent caches the latest decisions of
// this process for projection, which would otherwise read them back at once.
package decision

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/confine"
	"writ/internal/database"
	"writ/internal/intent/grounding"
	"writ/internal/obligation"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// The audit actions of decisions: about a call, and about a step of a plan before its call was sent.
const (
	Action         = audit.Decided
	ActionVerified = audit.Verified
)

// Altered stands for the verdict of an entry that the log does not prove.
const Altered = audit.AlteredVerdict

// IsAction reports whether entries of an action are decisions.
func IsAction(action string) bool { return action == Action || action == ActionVerified }

const subjectType = "decision"

// Record is a decision. Empty text is unknown.
type Record struct {
	ID    string
	OrgID string
	KeyID string    // the key that called; Append takes it from the principal
	Index int64     // of its entry in the organization's log; set by Read
	At    time.Time // set by Read

	AgentID   string
	SessionID string
	PlanID    string
	UnderPlan string // the plan that it was accepted under; only for Append
	Step      string // of the plan
	Server    string
	Tool      string

	// Ruling has no policy name, reason and message if these were erased.
	verdict.Ruling

	// Verified: it is about a step of a plan, and was made before the call was sent.
	Verified bool

	Erased bool // Details are empty
	Details
}

// Details are what can be erased, beside texts of the ruling. Nil Arguments were not
// stored; if Incomplete, they lack something that was judged.
type Details struct {
	StandingID string `json:"allow,omitzero"` // the standing approval that let the call run
	// the request that a hold or ask waits for, or that let the call run
	ApprovalID string         `json:"approval,omitzero"`
	Arguments  jsontext.Value `json:"arguments,omitzero"` // redacted, canonical
	// ArgumentsFrom is FromPlan or FromNowhere; empty: the call itself stated them.
	ArgumentsFrom string `json:"argumentsFrom,omitzero"`
	// of the unredacted canonical arguments, under the organization's key
	Digest   []byte `json:"-"`
	CalledAs string `json:"calledAs,omitzero"` // the name that was called, if the host said which tool it is
	// Confine is what the caller was told to confine the call to. Demanded is what a rule would have confined it to, if
	// the caller could.
	Confine     *confine.Limits `json:"confine,omitzero"`
	ContextID   string          `json:"context,omitzero"`
	Demanded    *confine.Limits `json:"demanded,omitzero"`
	Duration    time.Duration   `json:"-"`
	Environment string          `json:"environment,omitzero"`
	Failed      []Failure       `json:"failed,omitempty"`
	// Grounding are the arguments in doubt, and why, without their values.
	Grounding  []grounding.Reason `json:"grounding,omitempty"`
	Incomplete bool               `json:"incomplete,omitzero"`
	Judged     Judged             `json:"judged,omitzero"`
	Labels     []string           `json:"labels,omitempty"`
	// Oblige is what whoever carries the call out must do with its result.
	Oblige *obligation.Set `json:"oblige,omitzero"`
	// PlacedOn is the server the call was on, if its name claimed another server and a
	// rule about that one decided. Server is then the claimed one.
	PlacedOn string         `json:"placedOn,omitzero"`
	Paths    jsontext.Value `json:"resolvedPaths,omitzero"` // the resolved paths of the arguments, redacted
	Shadows  []Shadow       `json:"shadows,omitempty"`      // most decisions have none
	Source   string         `json:"source,omitzero"`
	// SpelledAs is the whole name that was called, if Tool is only the part behind the server.
	SpelledAs string `json:"spelledAs,omitzero"`
	UserID    string `json:"user,omitzero"`
	Email     string `json:"userEmail,omitzero"`
}

// Called is the name that was called; where the details were erased, only the tool's own.
func (r *Record) Called() string { return cmp.Or(r.SpelledAs, r.Tool) }

// Where the arguments of a decision came from, if not from the call.
const (
	FromPlan    = "plan"    // the plan's step states them
	FromNowhere = "unknown" // nobody has seen them
)

// Judged is what conditions and bindings saw beside what the client said. It is empty where nothing was judged. The
// plan's goal is not repeated: the plan tells it.
type Judged struct {
	// AgentBound: a person has bound the key to the agent.
	AgentBound bool `json:"agentBound,omitzero"`
	// AgentCertificate is that with which the caller has proven to be the agent; empty: none.
	AgentCertificate string `json:"agentCertificate,omitzero"`

	AgentName       string `json:"agentName,omitzero"`
	AgentRegistered bool   `json:"agentRegistered,omitzero"`
	AgentStatus     string `json:"agentStatus,omitzero"`

	CanConfine   bool   `json:"canConfine,omitzero"` // the caller said that it can confine the call
	Email        string `json:"email,omitzero"`      // of the user
	Grounded     bool   `json:"grounded,omitzero"`   // the call's values are the user's, or from where the user pointed
	Organization string `json:"organization,omitzero"`
	OwnerID      string `json:"owner,omitzero"` // of the key
	OwnerRole    string `json:"ownerRole,omitzero"`
	// Session is what the session had used, if a condition needed it.
	Session  *SessionUse `json:"session,omitzero"`
	Step     string      `json:"step,omitzero"`
	UserID   string      `json:"user,omitzero"` // whom the call named, else the owner
	UserRole string      `json:"userRole,omitzero"`
}

// SessionUse is what a session had used when a call was judged.
type SessionUse struct {
	Calls   int64   `json:"calls"`
	CostUSD float64 `json:"costUsd"`
	Tokens  int64   `json:"tokens"`
}

// Failure is a condition that could not be evaluated.
type Failure struct {
	Error  string `json:"error"`
	Policy string `json:"policy"`
	Rule   string `json:"rule"`
}

// Shadow is what the active policies would have decided with another version of one
// of them. It decided nothing.
type Shadow struct {
	Active    string `json:"active"`             // the verdict without it
	Confined  bool   `json:"confined,omitzero"`  // it would have allowed the call only confined
	DecidedBy string `json:"decidedBy,omitzero"` // the policy that would have decided
	Failed    int    `json:"failed,omitzero"`    // conditions that could not be evaluated
	Policy    string `json:"policy"`             // whose version it is
	Problem   string `json:"problem,omitzero"`   // why it was not evaluated
	Rule      string `json:"rule,omitzero"`      // that would have decided
	// Uncounted: a limit of the shadow mattered. It has no counter and counted as unused.
	Uncounted bool   `json:"uncounted,omitzero"`
	Verdict   string `json:"verdict,omitzero"` // empty where there is a problem
	Version   int    `json:"version"`
}

// Append records a decision within its transaction.
func Append(
	ctx context.Context, tx *database.Tx, log *audit.Log, by principal.Principal, r *Record,
) (*audit.Appended, error) {
	if !database.IsID(r.ID) || r.OrgID == "" || r.PolicyID == "" || r.Reason == "" {
		return nil, fmt.Errorf("record decision %s: it lacks an id, an organization, what decided, or a reason", r.ID)
	}
	payload, err := r.payload()
	if err != nil {
		return nil, fmt.Errorf("record decision %s: %w", r.ID, err)
	}
	recent := shown(tx, by, r)
	action := Action
	if r.Verified {
		action = ActionVerified
	}
	appended, err := log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(r.OrgID),
		Action:      action,
		Actor:       by,
		Subject:     audit.Subject{Type: subjectType, ID: r.ID},
		Observation: true,
		Decision: audit.Decision{
			Agent:   r.AgentID,
			Tool:    r.Tool,
			Verdict: r.Verdict.String(),
			Plan:    r.PlanID,
			Under:   r.UnderPlan,
			Server:  r.Server,
			Session: r.SessionID,
			Step:    r.Step,
			Policy:  r.PolicyID,
			Version: r.PolicyVersion,
			Rule:    r.Rule,
		},
		Payload: payload,
		Note:    recent,
	})
	if err != nil {
		return nil, err
	}
	recent.Index = appended.Index
	return appended, nil
}

// Read reads up to limit decisions of an organization in the order of its log,
// starting at an index.
func Read(ctx context.Context, r database.Reader, orgID string, from int64, limit int) ([]Record, error) {
	entries, err := audit.ReadDecisions(ctx, r, audit.LogOf(orgID), from, limit)
	if err != nil {
		return nil, err
	}
	return FromEntries(orgID, entries)
}

// ReadBefore reads up to limit decisions of an organization that stand before an index of
// its log, the latest first.
func ReadBefore(ctx context.Context, r database.Reader, orgID string, before int64, limit int) ([]Record, error) {
	entries, err := audit.ReadDecisionsBefore(ctx, r, audit.LogOf(orgID), before, limit)
	if err != nil {
		return nil, err
	}
	return FromEntries(orgID, entries)
}

// FromEntries reads the decisions of some entries.
func FromEntries(orgID string, entries []audit.Stored) (records []Record, err error) {
	records = make([]Record, len(entries))
	for i := range entries {
		if records[i], err = fromEntry(orgID, &entries[i]); err != nil {
			return nil, fmt.Errorf("read the decision at %d: %w", entries[i].Index, err)
		}
	}
	return records, nil
}

func fromEntry(orgID string, e *audit.Stored) (Record, error) {
	kept, err := ledger.ReadRecord([]byte(e.Record))
	if err != nil {
		return Record{}, err
	}
	r := Record{
		ID:        kept.Subject.ID,
		OrgID:     orgID,
		KeyID:     kept.Actor.ID,
		Index:     e.Index,
		At:        database.Time(e.Time),
		AgentID:   kept.Agent,
		SessionID: kept.Session,
		PlanID:    kept.Plan,
		Step:      kept.Step,
		Server:    kept.Server,
		Tool:      kept.Tool,
		Ruling:    verdict.Ruling{PolicyID: kept.Policy, PolicyVersion: kept.Version, Rule: kept.Rule},
		Verified:  kept.Action == ActionVerified,
		Erased:    e.Payload == "",
	}
	if r.Verdict, err = verdict.Parse(kept.Verdict); err != nil {
		return Record{}, err
	}
	if r.Erased {
		return r, nil
	}
	return r, r.readPayload(e.Payload)
}
