package plan

import (
	"crypto/sha256"
	"strings"
	"time"
)

// Status is where a plan stands. Only an active one authorises anything.
type Status string

// The statuses. The three that are not active have ended.
const (
	Active    Status = "active"
	Completed Status = "completed"
	Failed    Status = "failed"
	Expired   Status = "expired"
)

// Valid reports whether this is one of the statuses.
func (s Status) Valid() bool {
	return s == Active || s == Completed || s == Failed || s == Expired
}

// NotStated is how SDKs write that they know no user or agent.
const NotStated = "__sdk_multiuser__"

// clockSkew is how far ahead the clock of the replica that issued a token may be.
const clockSkew = 60 * time.Second

// Binding is whom a plan is for, or who makes a call. Empty is not stated.
type Binding struct {
	OrgID, KeyID                             string
	UserID, Email, AgentID, Context, Session string
}

// Declared is a plan as it was declared, and how it stands now.
type Declared struct {
	ID      string
	Anchor  int64 // number of the version of the plan that is judged, from 1
	Binding Binding
	Status  Status
	Issued  time.Time
	Expires time.Time
	// Signature and JWTHash are what was issued.
	Signature string
	JWTHash   [sha256.Size]byte

	Plan  *Plan
	Root  string // of the plan's tree, in hex
	Bytes int    // of its text, for who remembers it
	// Widened are the indexes of steps, ascending, that a plan under way at the
	// time did not permit: a person must agree to their calls.
	Widened []int
}

// Call is a tool call to be judged by a plan.
type Call struct {
	Server string // empty: not stated, as on /iap/sdk/enforce
	Tool   string
	// Arguments are those of the call. Where a surface does not carry them
	// (verify-step), NoArguments says so, and only the name is judged.
	Arguments   Arguments
	NoArguments bool
}

// Drift is how a call leaves its plan. Empty: it does not.
type Drift string

// The kinds of drift.
const (
	NoPlan         Drift = "no_plan"      // nothing was presented, or no such plan
	NotGenuine     Drift = "not_genuine"  // not what was issued for the plan
	NotCurrent     Drift = "not_current"  // expired, or issued in the future
	Ended          Drift = "ended"        // completed, failed or marked expired
	Elsewhere      Drift = "elsewhere"    // another key, user, agent, context or session
	NotInPlan      Drift = "not_in_plan"  // the tool
	OtherArguments Drift = "arguments"    // the tool, but other arguments
	OutOfOrder     Drift = "out_of_order" // an earlier step must be used first
	Widened        Drift = "widened"      // the step was added to a plan under way, and nobody agreed yet
	UsedUp         Drift = "used_up"      // max_calls reached
	Counted        Drift = "counted"      // ordered or counted, where nothing is claimed
	BadProof       Drift = "bad_proof"    // a proof that does not lead to the plan's root
)

// Result is what the intent check says. The zero value does not allow.
type Result struct {
	OK bool
	// Steps are the indexes of the steps the call fits, ascending; of a Widened
	// drift, too. Using one of them is still to be claimed where the plan is Limited.
	Steps []int
	Drift Drift
	// Reason is for the model that made the call.
	Reason string
}

func refuse(drift Drift, reason string) Result { return Result{Drift: drift, Reason: reason} }

// Missing is the result of a call that presents no plan we know. Whether there
// is none, or one of somebody else's, is told to nobody.
func Missing() Result {
	return refuse(NoPlan, "no plan: declare one (POST /iap/sdk/token) and send its token with the call")
}

// Check judges a call by the plan it presents: genuine, current, not ended, of
// this caller, with the tool among its steps and every argument a step gives
// equal in the call. The first that does not hold decides.
func Check(d *Declared, p Presented, call Call, by Binding, now time.Time) Result {
	if d == nil || d.Plan == nil {
		return Missing()
	}
	if r := CheckPresented(d, p, by, now); !r.OK {
		return r
	}
	return d.Fit(call)
}

// Standing judges the plan alone: whether it may authorise anything for this
// caller now.
func CheckPresented(d *Declared, p Presented, by Binding, now time.Time) Result {
	switch {
	case !d.genuine(p):
		return refuse(NotGenuine, "the token is not the one issued for this plan: use the token as it was issued")
	case d.Status != Active:
		return refuse(Ended, "the plan has ended ("+string(d.Status)+"): declare a new one")
	case !now.Before(d.Expires):
		return refuse(NotCurrent, "the plan expired at "+d.Expires.UTC().Format(time.RFC3339)+": declare a new one")
	case d.Issued.After(now.Add(clockSkew)):
		return refuse(NotCurrent, "the token was issued in the future")
	}
	if what := d.Binding.differs(by); what != "" {
		return refuse(Elsewhere, "the plan was declared for another "+what)
	}
	return Result{OK: true}
}

// SameParties reports whether nothing that both state tells the one from the other,
// but for session and context.
func (b Binding) SameParties(other Binding) bool {
	b.Context, b.Session = "", ""
	return b.differs(other) == ""
}

// differs names what keeps a plan from being used by a caller. Organization
// and key must be the same; the rest where both state it.
func (b Binding) differs(by Binding) string {
	switch {
	case b.OrgID == "" || b.OrgID != by.OrgID:
		return "organization"
	case b.KeyID == "" || b.KeyID != by.KeyID:
		return "API key"
	}
	for _, pair := range [...]struct{ what, declared, calling string }{
		{"user", b.userID(), by.userID()},
		{"user", b.email(), by.email()},
		{"agent", stated(b.AgentID), stated(by.AgentID)},
		{"context", stated(b.Context), stated(by.Context)},
		{"session", stated(b.Session), stated(by.Session)},
	} {
		if pair.declared != "" && pair.calling != "" && pair.declared != pair.calling {
			return pair.what
		}
	}
	return ""
}

func stated(text string) string {
	if text == NotStated {
		return ""
	}
	return text
}

// SDKs send a user's e-mail as the user id once they know it. An id and an
// e-mail cannot be compared with each other.

func (b Binding) userID() string {
	if id := stated(b.UserID); !strings.Contains(id, "@") {
		return id
	}
	return ""
}

func (b Binding) email() string {
	if b.Email != "" {
		return strings.ToLower(strings.TrimSpace(b.Email))
	}
	if id := stated(b.UserID); strings.Contains(id, "@") {
		return strings.ToLower(strings.TrimSpace(id))
	}
	return ""
}
