package approval

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/approval/pattern"
	"writ/internal/fault"
	"writ/internal/names"
)

// Approval is an approver's answer. The zero value permits the very call, once.
type Approval struct {
	Note  string
	Scope Scope
	// Arguments replace those of the call: a JSON object, only with the scope once. Nil
	// leaves them as they are.
	Arguments []byte
}

// ScopeKind is how much an approval permits.
type ScopeKind string

// The kinds. The zero value is Once.
const (
	Once      ScopeKind = "once"    // this very call
	Session   ScopeKind = "session" // this tool, in the session of the call
	Minutes   ScopeKind = "minutes" // this tool, for some time
	ByPattern ScopeKind = "pattern" // this tool, with arguments that fit
	Plan      ScopeKind = "plan"    // all calls of the call's plan
)

// Limits of standing approvals.
const (
	MaxStandingMinutes = 8 * 60
	MaxStandingUses    = 1000

	defaultStandingMinutes = 60
	defaultStandingUses    = 100
)

// Scope is what an approval permits, for how long and how often. With Once the rest is
// empty; else Minutes and Uses may be zero, which means an hour and a hundred.
type Scope struct {
	Kind    ScopeKind       `json:"kind"`
	Minutes int             `json:"minutes,omitzero"`
	Uses    int             `json:"uses,omitzero"`
	Pattern pattern.Pattern `json:"pattern,omitempty"`
}

// once reports whether only the very call may run.
func (s Scope) once() bool { return s.Kind == "" || s.Kind == Once }

func (s Scope) minutes() int { return cmp.Or(s.Minutes, defaultStandingMinutes) }

func (s Scope) uses() int { return cmp.Or(s.Uses, defaultStandingUses) }

func (s Scope) life() time.Duration { return time.Duration(s.minutes()) * time.Minute }

// complete fills in the defaults, so that two scopes that mean the same are equal.
func (s Scope) complete() Scope {
	if s.once() {
		return Scope{Kind: Once}
	}
	s.Minutes, s.Uses = s.minutes(), s.uses()
	return s
}

// check refuses a scope that does not fit the request.
func (s Scope) check(r *Request) error {
	if s.once() {
		if s.Minutes != 0 || s.Uses != 0 || len(s.Pattern) > 0 {
			return fault.Field("scope", "once is one run of the very call: it takes no minutes, uses or pattern")
		}
		return nil
	}
	if why := r.refuses(s.Kind); why != "" {
		return fault.Field("scope.kind", "%s", why)
	}
	if s.Minutes < 0 || s.Minutes > MaxStandingMinutes {
		return fault.Field("scope.minutes", "must be from 1 to %d", MaxStandingMinutes)
	}
	if s.Uses < 0 || s.Uses > MaxStandingUses {
		return fault.Field("scope.uses", "must be from 1 to %d", MaxStandingUses)
	}
	if len(s.Pattern) > 0 && s.Kind != ByPattern {
		return fault.Field("scope.pattern", "goes with the kind pattern only")
	}
	return s.checkKind(r)
}

func (s Scope) checkKind(r *Request) error {
	switch s.Kind {
	case Session:
		if r.SessionID == "" {
			return fault.Field("scope.kind", "the call names no session")
		}
	case Minutes:
		if s.Minutes == 0 {
			return fault.Field("scope.minutes", "must be from 1 to %d", MaxStandingMinutes)
		}
	case ByPattern:
		if err := s.Pattern.Check(); err != nil {
			return err
		}
		return s.Pattern.FitsCall(r.Arguments)
	case Plan:
		if r.PlanID == "" {
			return fault.Field("scope.kind", "the call belongs to no plan")
		}
	default:
		return fault.Field("scope.kind", "must be once, session, minutes, pattern or plan")
	}
	return nil
}

// Words say what an approval of the request with this scope permits. The same scope and
// request always give the same words.
func (s Scope) Words(r Request) string {
	tool := names.Quoted(r.Server + "." + r.Tool)
	if s.once() && r.Via == ViaStep {
		return r.stepWords(tool)
	}
	if s.once() && r.ArgumentsFrom != "" {
		return r.unseenWords(tool)
	}
	if s.once() {
		which, under, denier := "these", "", "a rule"
		if r.PlanID != "" {
			under, denier = " under the same plan,", "the plan or a rule"
		}
		words := "One call of %s with exactly %s arguments,%s within %s."
		if len(r.editedDigest) > 0 { // nobody has judged the call with them
			which = "the changed"
			words += " What " + denier + " denies stays denied."
		}
		return fmt.Sprintf(words, tool, which, under, lasting(r.GrantLife()))
	}
	var what string
	switch s.Kind {
	case Session:
		what = fmt.Sprintf("Any call of %s in the session %q, whatever its arguments are", tool, r.SessionID)
	case Minutes:
		what = fmt.Sprintf("Any call of %s, whatever its arguments are", tool)
	case ByPattern:
		what = fmt.Sprintf("Any call of %s where %s, and nothing else is given", tool, s.Pattern.Words())
	case Plan:
		what = fmt.Sprintf("Every call within the plan %s that would wait for the same approval, of whatever tool and arguments", names.Quoted(r.PlanID))
	default:
		return "Nothing: this is no known scope."
	}
	return fmt.Sprintf("%s, by %s, at most %s within %s. What a rule denies stays denied.",
		what, r.callerWords(), times(s.uses()), lasting(s.life()))
}

// unseenWords say what an approval permits that a client asked for without arguments: it finds the approval by the
// tool, the person and the amount.
func (r *Request) unseenWords(tool string) string {
	words := "One call of " + tool
	if r.Email != "" {
		words += fmt.Sprintf(" for %q", r.Email)
	}
	if r.Amount != nil && *r.Amount != 0 {
		words += fmt.Sprintf(", whose amount is %s according to the client",
			strconv.FormatFloat(*r.Amount, 'f', -1, 64))
	}
	return words + fmt.Sprintf(", within %s, with any arguments: nobody has seen them.", lasting(r.GrantLife()))
}

// callerWords say whose calls a standing approval permits.
func (r *Request) callerWords() string {
	words := "this API key"
	if r.AgentID != "" {
		words += fmt.Sprintf(", agent %q", r.AgentID)
	}
	if r.Email != "" {
		words += fmt.Sprintf(", for %q", r.Email)
	} else if r.UserID != "" {
		words += fmt.Sprintf(", for user %q", r.UserID)
	}
	return words
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// lasting is a duration in words.
func lasting(d time.Duration) string {
	var parts []string
	for _, unit := range [...]struct {
		name string
		size time.Duration
	}{{"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		n := int64(d / unit.size)
		d %= unit.size
		switch {
		case n == 1:
			parts = append(parts, "1 "+unit.name)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, unit.name))
		}
	}
	if len(parts) == 0 {
		return "no time"
	}
	return strings.Join(parts, " and ")
}

// text is the scope as stored.
func (s Scope) text() (string, error) {
	text, err := json.Marshal(s.complete(), json.Deterministic(true))
	return string(text), err
}

func parseScope(text string) (s Scope, err error) {
	if text == "" {
		return Scope{}, nil
	}
	err = json.Unmarshal([]byte(text), &s)
	return s, err
}

// Scopes are those to offer to an approver. A pattern is not among them: only a person
// can say which arguments may vary.
func (r *Request) Scopes() []Scope {
	scopes := []Scope{{Kind: Once}}
	for _, scope := range []Scope{
		{Kind: Session}, {Kind: Minutes, Minutes: defaultStandingMinutes}, {Kind: Plan},
	} {
		if scope.check(r) == nil {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// refuses says why no standing approval of the kind would ever let the call run; empty: one may.
func (r *Request) refuses(kind ScopeKind) string {
	switch {
	case r.ArgumentsFrom != "":
		return "must be once: nobody has seen the arguments of this call"
	case r.PolicyID == byRegistry:
		return "must be once: the tool is held until a person accepts it in the registry of MCP servers"
	case r.Doubted && r.PolicyID != byIntent:
		return "must be once: beside the rule that holds the call, where its values come from is in doubt"
	case r.Via == ViaRequest && kind != Plan:
		return "must be once or plan: no rule has held this call yet, and more is approved of what a rule holds"
	case (r.PolicyID == byIntent || r.Widens) && kind == Plan:
		return "must not be plan: what the plan does not say is approved for a call, a session, some minutes or a pattern"
	}
	return ""
}

// Permits says what an approval with the scope would permit, or why it is refused.
func (r *Request) Permits(s Scope) (string, error) {
	if err := s.check(r); err != nil {
		return "", err
	}
	return s.complete().Words(*r), nil
}
