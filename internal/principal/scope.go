package principal

// Scope is something an API key may be used for. No scope activates, confirms,
// approves or reads dashboards: those need a person.
type Scope string

// The scopes of API keys.
const (
	Ingest            Scope = "ingest"             // send traces and token usage
	Enforce           Scope = "enforce"            // declare plans, ask for decisions
	Audit             Scope = "audit"              // report what was executed
	DraftPolicy       Scope = "policy.draft"       // propose a policy for a person to confirm
	ProposeProfile    Scope = "profile.propose"    // stage a profile and propose it for a person to confirm
	RequestDelegation Scope = "delegation.request" // ask a person for approval
	CLI               Scope = "cli"                // act for its owner in a terminal: organizations, own keys
)

// DefaultScopes are those of a key for which none are named.
func DefaultScopes() []Scope { return []Scope{Audit, RequestDelegation, Enforce, Ingest} }

// TerminalScopes are those of a key from signing in from a terminal: what published command lines and the plugins that
// they install use, and no more.
func TerminalScopes() []Scope { return append(DefaultScopes(), ProposeProfile, CLI) }

// RequestableScopes are those a person may give to a key. CLI is not among them:
// only signing in from a terminal gives it, because such a key makes keys.
func RequestableScopes() []Scope { return append(DefaultScopes(), DraftPolicy, ProposeProfile) }

// includes reports whether a key with this scope has the other one too. A key that drafts policies also proposes
// profiles.
func (s Scope) includes(other Scope) bool {
	return s == other || s == DraftPolicy && other == ProposeProfile
}

// WritesPolicies reports whether a key with this scope does a person's work: it may do no more than its owner may.
func (s Scope) WritesPolicies() bool { return s == DraftPolicy || s == ProposeProfile }
