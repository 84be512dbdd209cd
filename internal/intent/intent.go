// Package intent keeps what agents have declared they will do, and issues the
// tokens they show for it.
//
// Mint takes a plan, stores it and gives a token: seven members signed with
// Ed25519 over canonical JSON, a proof for every step, and a JWT. Signing
// happens here and nowhere later. A call that shows a token is judged by the
// stored plan, never by the copy it sends along, and a token is genuine when
// its signature equals the stored one. What is judged, and how, is in package
// plan; a decision uses
//
//   - Find, before its transaction: the plan a call presents, from memory in
//     most cases;
//   - plan.Check: whether the call fits it;
//   - FindIn and UseStep, inside the transaction: the plan again if anything
//     changed meanwhile, and the claim on a step that the plan limits.
//
// A plan is active until it expires, or a client or person ends it; ended or
// expired it authorises nothing. A key may end its plans and not more; making
// one active again needs a person.
//
// A plan that a plugin made by itself out of the call it is about to judge is
// refused, because it authorises whatever the model wants; it is let through
// when the same key, user, agent and context hold a live plan with that call.
//
// The exact plan is stored sealed, because what an agent is about to do holds
// secrets, and exactness is what a plan is for. What is shown is redacted.
// Arguments are compared across calls by digests under a key of their
// organization, so that a digest tells nobody what it is of.
package intent

import (
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/names"
	"writ/internal/redaction"
)

// Lifetimes of tokens.
const (
	// DefaultLife is how long a plan lives whose client does not say.
	DefaultLife = 300 * time.Second
	// DefaultMaxLife is the longest life where the organization sets none.
	DefaultMaxLife = 24 * time.Hour

	minLife = time.Second
)

const (
	maxRequestName = 255 // bytes of an Idempotency-Key
	// keepRequests is how long an Idempotency-Key is remembered.
	keepRequests = 24 * time.Hour
)

// Request asks for a token.
type Request struct {
	UserID, Email, AgentID, ContextID, SessionID string

	Plan   []byte // JSON, in any published shape
	Policy []byte // the client's, opaque; JSON or nothing

	// ExpiresIn is in seconds; nil: DefaultLife.
	ExpiresIn *float64
	// DefaultLife and MaxLife are those of the agent and the organization;
	// 0: those of this package.
	DefaultLife, MaxLife time.Duration

	// IdempotencyKey, where there is one, makes the same request give the same
	// answer.
	IdempotencyKey string
}

// checked is r without what stands for nothing, or a fault.
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
			return Request{}, fault.Field(field.name, "holds what looks like a key: send a name, it is kept as it is")
		}
		if *field.text == plan.NotStated {
			*field.text = ""
		}
	}
	r.Email = strings.ToLower(r.Email)
	if len(r.IdempotencyKey) > maxRequestName {
		return Request{}, fault.Field("Idempotency-Key", "must be at most %d bytes", maxRequestName)
	}
	return r, nil
}

// life is how long the token lives: what was asked for in whole seconds,
// rounded up, within the limits.
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
		default: // also for what is no number
			asked = minLife
		}
	}
	return max(min(asked, most).Truncate(time.Second), minLife)
}

// Minted is a token and all that published clients read beside it.
type Minted struct {
	PlanID            string       `json:"plan_id"`
	IntentReference   string       `json:"intent_reference"`
	PlanHash          string       `json:"plan_hash"`
	MerkleRoot        string       `json:"merkle_root"`
	CompositeIdentity string       `json:"composite_identity"`
	StepProofs        []plan.Proof `json:"step_proofs"`
	Token             plan.Token   `json:"token"`
	JWT               string       `json:"jwt_token"`

	// Plan is the plan as it will be judged, for who tells what policy says
	// about its tools.
	Plan *plan.Plan `json:"-"`
	// Widened are the steps that a plan under way did not permit: a person must
	// agree to their calls.
	Widened []int `json:"-"`
	// Repeated: the answer was given before to the same Idempotency-Key.
	Repeated bool `json:"-"`
}

// referenceMark begins an intent_reference; the plan's id follows.
const referenceMark = "ir_"

// View is a plan as it is shown.
type View struct {
	ID        string
	Binding   plan.Binding
	ParentID  string
	Status    plan.Status // Expired, too, where its time is over
	Goal      string
	Source    string
	Steps     int
	Anchor    int64
	Hash      string
	IssuedAt  time.Time
	ExpiresAt time.Time
	CreatedAt time.Time
	EndedAt   *time.Time
	// Plan is the redacted plan as JSON; nil for who may not read payloads, in
	// lists, and where it was erased.
	Plan jsontext.Value
	// Uses are how often limited steps were used, by index; nil in lists.
	Uses map[int]int64
}
