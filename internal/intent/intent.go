// Package intent stores the plans that agents declare and issues tokens for them.
//
// Mint stores a plan and returns a token: seven members signed with Ed25519 over
// canonical JSON, a proof for every step, and a JWT. A call that sends a token is
// judged by the stored plan, never by the copy it sends along, and a token is
// genuine if its signature equals the stored one. Package plan has the rules; a
// decision uses
//
//   - Find, before its transaction: the plan a call presents, usually cached;
//   - plan.Check: whether the call fits it;
//   - UseStep, inside the transaction: the claim on a step that the plan limits.
//
// Every change of a plan raises the generation of the organization's log. The
// transaction compares it, and a decision by an older one begins again.
//
// A plan is active until it expires, or a client or person ends it; after that it
// authorizes nothing. A key may only end its plans; only a person may make one
// active again.
//
// A plan that a plugin made from the very call that it is about to check is
// refused, because it authorizes whatever the model wants. It is accepted if the
// same key, user, agent and context have a live plan with that call.
//
// The exact plan is stored sealed, because it may hold secrets; people see a
// redacted copy. Arguments are compared across calls by digests under a key of
// their organization, so that a digest does not reveal them.
package intent

import (
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/intent/grounding"
	"writ/internal/intent/plan"
	"writ/internal/names"
	"writ/internal/redaction"
)

// Lifetimes of tokens.
const (
	DefaultLife    = 300 * time.Second // unless the client or the agent's settings say otherwise
	DefaultMaxLife = 24 * time.Hour    // unless the organization sets another
	minLife        = time.Second
)

const (
	maxIdempotencyKey  = 255            // bytes
	idempotencyKeyLife = 24 * time.Hour // after it, the same key may be used again
)

// Request asks for a token.
type Request struct {
	UserID, Email, AgentID, ContextID, SessionID string

	Plan   []byte // JSON, in any published shape
	Policy []byte // the client's own JSON, or nothing

	ExpiresIn *float64 // seconds; nil: DefaultLife
	// DefaultLife and MaxLife are those of the agent and the organization;
	// 0: those of this package.
	DefaultLife, MaxLife time.Duration

	// Prompt is what the user said, from the harness. Absent: the goal of the plan.
	Prompt *string

	IdempotencyKey string // optional; a repeated request gets the same answer

	// Ticket is for a plan of a guarded session. Amends is why the plan adds to those of its turn; empty: it
	// adds nothing.
	Ticket, Amends string
}

// checked returns the request with its names trimmed and validated.
func (r Request) checked() (Request, error) {
	for _, field := range []struct {
		name string
		text *string
	}{
		{"user_id", &r.UserID}, {"user_email", &r.Email}, {"agent_id", &r.AgentID}, {"context_id", &r.ContextID},
		{"session_id", &r.SessionID},
	} {
		*field.text = strings.TrimSpace(*field.text)
		if !names.Valid(*field.text) {
			return Request{}, fault.Field(field.name, "must be at most %d bytes without control characters",
				names.MaxBytes)
		}
		if redaction.HoldsKey(*field.text) {
			return Request{}, fault.Field(field.name, "looks like a key: send a name, because it is stored unredacted")
		}
		if *field.text == plan.NotStated {
			*field.text = ""
		}
	}
	r.Email = strings.ToLower(r.Email)
	if r.Prompt != nil && len(*r.Prompt) > grounding.MaxPrompt {
		return Request{}, fault.New(fault.TooLarge, "prompt has %d bytes; at most %d are allowed", len(*r.Prompt),
			grounding.MaxPrompt)
	}
	if len(r.IdempotencyKey) > maxIdempotencyKey {
		return Request{}, fault.Field("Idempotency-Key", "must be at most %d bytes", maxIdempotencyKey)
	}
	return r, nil
}

// life is how long the token lives: the requested seconds, rounded up, within the
// limits.
func (r Request) life() time.Duration {
	most := r.MaxLife
	if most <= 0 {
		most = DefaultMaxLife
	}
	asked := r.DefaultLife
	if asked <= 0 {
		asked = DefaultLife
	}
	if r.ExpiresIn != nil {
		seconds := math.Ceil(*r.ExpiresIn)
		switch {
		case seconds >= most.Seconds():
			asked = most
		case seconds >= 1:
			asked = time.Duration(seconds) * time.Second
		default: // also NaN
			asked = minLife
		}
	}
	return max(min(asked, most).Truncate(time.Second), minLife)
}

// Minted is a token and everything else that published clients read.
type Minted struct {
	PlanID            string       `json:"plan_id"`
	IntentReference   string       `json:"intent_reference"`
	PlanHash          string       `json:"plan_hash"`
	MerkleRoot        string       `json:"merkle_root"`
	CompositeIdentity string       `json:"composite_identity"`
	StepProofs        []plan.Proof `json:"step_proofs"`
	Token             plan.Token   `json:"token"`
	JWT               string       `json:"jwt_token"`

	Plan     *plan.Plan `json:"-"` // as calls will be judged by it
	Widened  []int      `json:"-"` // see plan.Declared
	Added    []string   `json:"-"` // the tools that it adds to the other plans of its turn
	AgentID  string     `json:"-"`
	Repeated bool       `json:"-"` // the same Idempotency-Key got this answer before
}

// referencePrefix comes before the plan's id in an intent_reference.
const referencePrefix = "ir_"

// View is a plan as it is shown.
type View struct {
	ID        string
	Binding   plan.Binding
	ParentID  string
	Status    plan.Status // Expired also if the stored status is still active
	Goal      string
	Source    string
	Steps     int
	Anchor    int64
	Hash      string
	IssuedAt  time.Time
	ExpiresAt time.Time
	CreatedAt time.Time
	EndedAt   *time.Time
	RevokedAt *time.Time // nil: it was not revoked
	// DelegatedTo is the agent that alone may use a delegation; empty: whoever holds the key that it is for.
	DelegatedTo string
	// Stopped: the kill switch has ended it before its time.
	Stopped bool
	// Plan is the redacted plan as JSON; nil in lists, if it was erased, and if the
	// caller may not read payloads.
	Plan jsontext.Value
	Uses map[int]int64 // calls of limited steps, by index; nil in lists
	// Index is that of the entry that declared it in the organization's log; -1: there is none. Not in lists.
	Index int64
}
