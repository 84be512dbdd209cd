package plan

import (
	"crypto/sha256"
	"strings"
	"time"
)

// Status is the status of a plan. Only an active plan authorizes anything.
type Status string

// The statuses. All but Active have ended.
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

// NotStated is what SDKs send without a user or agent.
const NotStated = "__sdk_multiuser__"

// clockSkew is how far ahead the clock of the replica that issued a token may be.
const clockSkew = 60 * time.Second

// Binding is who declared a plan, or who makes a call. Empty means not stated.
type Binding struct {
	OrgID, KeyID                             string
	UserID, Email, AgentID, Context, Session string
}

// Declared is a declared plan with its present status.
type Declared struct {
	ID      string
	Under   string // the plan that it was accepted under; empty: none
	Anchor  int64  // the version of the plan, from 1
	Binding Binding
	Status  Status
	Issued  time.Time
	Expires time.Time
	// Signature and JWTHash are what was issued.
	Signature string
	JWTHash   [sha256.Size]byte

	Plan  *Plan
	Root  string // of the plan's tree, in hex
	Bytes int    // of its text
	// Grounds: it was declared before any running text, so that its goal and values are the user's.
	Grounds bool
	// WidenedMay are the indexes of Plan.May that the earlier plan did not name either. They permit nothing.
	WidenedMay []int
	// Widened are the indexes of steps, ascending, that the earlier plan it continues
	// did not permit: a person must agree to their calls.
	Widened []int

	// First is the anchor that the token was issued for; nil: the present one, as the plan was never re-anchored.
	First *Anchored
	// Reanchored is the log's entry of the present anchor; 0: the plan was never re-anchored.
	Reanchored int64
	// Delegation is what was delegated with this plan; nil: an agent declared it. Chain has the plans that it was
	// delegated from, the nearest first and the declared one last.
	Delegation *Delegation
	Chain      []*Declared
}

// Since is the log's entry since which a plan and all that it was delegated from are as they are now; 0: since they
// were declared. What people agreed to before was about other steps.
func (d *Declared) Since() int64 {
	since := d.Reanchored
	for _, above := range d.Chain {
		since = max(since, above.Reanchored)
	}
	return since
}

// Anchored is one version of a plan.
type Anchored struct {
	Plan *Plan
	Root string
}

// first is the version that the token was issued for.
func (d *Declared) first() Anchored {
	if d.First != nil {
		return *d.First
	}
	return Anchored{d.Plan, d.Root}
}

// Call is a tool call to check against a plan.
type Call struct {
	Server string // empty: not stated, as on /iap/sdk/enforce
	Tool   string
	// Arguments are those of the call. With NoArguments (verify-step) only the name is
	// checked.
	Arguments   Arguments
	NoArguments bool
	// GivenGround: what a step gives grounds arguments instead of fixing them, unless the step is strict.
	GivenGround bool
}

// Drift is how a call deviates from its plan. Empty: it does not.
type Drift string

// The kinds of drift.
const (
	NoPlan         Drift = "no_plan"      // nothing was presented, or no such plan
	NotGenuine     Drift = "not_genuine"  // not the token issued for the plan
	NotCurrent     Drift = "not_current"  // expired, or issued in the future
	Ended          Drift = "ended"        // completed, failed or marked expired
	Elsewhere      Drift = "elsewhere"    // another key, user, agent, context or session
	NotInPlan      Drift = "not_in_plan"  // the tool
	OtherArguments Drift = "arguments"    // the tool, but other arguments
	OutOfOrder     Drift = "out_of_order" // an earlier step must be used first
	Widened        Drift = "widened"      // the step was added to a live plan, and nobody agreed yet
	Ungrounded     Drift = "ungrounded"   // only a text says what the call does, and nobody agreed yet
	UsedUp         Drift = "used_up"      // max_calls reached
	OtherTurn      Drift = "other_turn"   // of the session than the present one
	BadProof       Drift = "bad_proof"    // the proof does not lead to the plan's root
	NotHeld        Drift = "not_held"     // a delegation, and no proof that the caller holds its key
	Replayed       Drift = "replayed"     // such a proof, which was used before
	Beyond         Drift = "beyond"       // a plan that the delegation came from does not permit it, or has ended
)

// Result is the result of the intent check. The zero value does not allow.
type Result struct {
	OK bool
	// Steps are the indexes of the steps the call fits, ascending, also with the drift
	// Widened. If the plan is Limited, one of them must still be claimed.
	Steps  []int
	Drift  Drift
	Reason string // for the model that made the call
}

func refuse(drift Drift, reason string) Result { return Result{Drift: drift, Reason: reason} }

// Missing is the result of a call without a known plan. It does not reveal whether the
// plan exists in another organization.
func Missing() Result {
	return refuse(NoPlan, "no plan: declare one (POST /iap/sdk/token) and send its token with the call: "+
		"as intent_token, or to the proxy in the header Writ-Plan")
}

// Unreadable is the result of a call that shows something as its plan that is no token of one.
func Unreadable() Result {
	return refuse(NoPlan, "Writ-Plan (writ/plan in _meta) cannot be read: it must be the plan's whole token, not its id; "+
		"writ plan declare --json prints the token")
}

// Check checks a call against the plan it presents. The plan must be genuine, current,
// not ended and of this caller, and one of its steps must have the tool and the
// arguments of the call.
func Check(d *Declared, p Presented, call Call, by Binding, now time.Time) Result {
	if d == nil || d.Plan == nil {
		return Missing()
	}
	if r := CheckPresented(d, p, by, now); !r.OK {
		return r
	}
	return d.Fit(call)
}

// CheckPresented checks the plan alone: whether it may authorize anything for this
// caller now.
func CheckPresented(d *Declared, p Presented, by Binding, now time.Time) Result {
	switch {
	case d.Delegation != nil:
		return refuse(NotGenuine, "a delegation counts only with a proof that the caller holds its key")
	case !d.genuine(p):
		return refuse(NotGenuine, "the token is not the one issued for this plan: use the token as it was issued")
	case d.altered(p):
		return refuse(NotGenuine, "the token was altered: use the token as it was issued")
	case d.Status != Active:
		return refuse(Ended, "the plan has ended ("+string(d.Status)+"): declare a new one")
	case !now.Before(d.Expires):
		return refuse(NotCurrent, "the plan expired at "+d.Expires.UTC().Format(time.RFC3339)+": declare a new one")
	case d.Issued.After(now.Add(clockSkew)):
		return refuse(NotCurrent, "the token was issued in the future")
	}
	if what := d.Binding.differs(by); what != "" {
		return refuse(Elsewhere, "the plan was declared for another "+what+": declare a new one")
	}
	return Result{OK: true}
}

// SameParties reports whether both bindings agree in what both state, except session
// and context.
func (b Binding) SameParties(other Binding) bool {
	b.Context, b.Session = "", ""
	return b.differs(other) == ""
}

// differs names what differs between a plan and a caller. Organization and key must be
// equal; the rest only if both state it.
func (b Binding) differs(by Binding) string {
	switch {
	case b.OrgID == "" || b.OrgID != by.OrgID:
		return "organization"
	case b.KeyID == "" || b.KeyID != by.KeyID:
		return "API key"
	}
	if b.AnotherUser(by) {
		return "user"
	}
	for _, pair := range [...]struct{ what, declared, calling string }{
		{"agent", stated(b.AgentID), stated(by.AgentID)},
		{"context", stated(b.Context), stated(by.Context)},
		{"session", stated(b.Session), stated(by.Session)},
	} {
		if disagree(pair.declared, pair.calling) {
			return pair.what
		}
	}
	return ""
}

// AnotherUser reports whether both state a user, and not the same.
func (b Binding) AnotherUser(by Binding) bool {
	return disagree(b.userID(), by.userID()) || disagree(b.email(), by.email())
}

// disagree reports whether both are stated and differ.
func disagree(declared, calling string) bool {
	return declared != "" && calling != "" && declared != calling
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
