// Package route is the core of the edge: how a route is declared, and the way every request takes to its handler.
//
// A route is declared once, with its whole path, beside its handler:
//
//	route.Handle(r, route.Post("/organization", "Create an organization and become its owner").
//		For(route.Person).Records("organization.created").Answers(http.StatusCreated), h.create)
//
// A declaration says who may call the route (Mode), what that caller needs (an action of their role, or a scope of
// their key), its throttle and the audit action it records. One that leaves something open panics when it is made,
// so that any test finds it.
//
// A request passes, in this order: request id and security headers, host check, path, admission by the Gate,
// decoding and validation, throttle, handler. Nothing of a body is read before its caller is admitted. Every error,
// from any of these, is answered in the one shape of ErrorBody, unless an area has registered a Shape for its paths.
//
// This package knows no area: areas mount their routes on a Router, and package api puts them together.
package route

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"writ/internal/principal"
	"writ/internal/throttle"
)

// Mode is who may call a route. Every route states one: the zero value is refused.
type Mode string

// The modes of callers.
const (
	Public      Mode = "public" // anyone
	Person      Mode = "jwt"    // a person who has signed in
	Key         Mode = "key"    // an API key
	PersonOrKey Mode = "either"
	Proxy       Mode = "proxy" // the enforcement proxy
	// Session is a person who has signed in, or a page of this server that asks for its cookie to count: then the
	// handler checks the cookie.
	Session Mode = "session"
	// PlanToken is an API key, or no credential: then the handler checks the plan's token in the body before
	// anything else.
	PlanToken Mode = "plan-token"
	// Agent is an API key, or else the handler checks the access token of an OAuth client before anything else.
	Agent Mode = "agent"
)

// What says which organization a route with an Action is about: one of these in its path, or else the query
// parameter OrganizationParameter.
const (
	orgSegment            = "{orgId}"
	policySegment         = "{policyId}"
	planSegment           = "{planId}"
	OrganizationParameter = "organizationId"
)

// AnyScope lets every valid key in, whatever its scopes.
const AnyScope principal.Scope = "any"

// notRecorded marks a change that gives and takes no right: a code mailed again, a token replaced by another.
const notRecorded = "-"

// Route declares one endpoint.
type Route struct {
	Method  string
	Path    string
	Tag     string
	Summary string

	Mode     Mode
	Action   principal.Action // what a person needs in the organization the route is about
	Scope    principal.Scope  // what a key needs
	Throttle throttle.Rule
	// Guesses: only requests that fail count for the account.
	Guesses bool
	// OpenThrottle is counted by the handler itself, and only for requests that open something new.
	OpenThrottle throttle.Rule

	Audit    string // the action it records; empty for reads
	Status   int    // of success; 200 unless set
	MaxBytes int64  // of the body; the server's usual limit unless set

	// ForLimited admits a person whose sign-in is valid for one organization only, although the route names no
	// organization: its handler keeps to that one.
	ForLimited bool
	// ForStopped admits a key that the kill switch has stopped. Few routes do: those that tell it so, take what it did,
	// or whose refusal published clients take for a permission.
	ForStopped bool
	// Operators admits only people who run this installation. It is no role: they need not be in any organization.
	Operators bool
	// AsksFactor wants a person who has a second factor to have proved it within the last minutes: for what a thief
	// with an open browser must not do.
	AsksFactor bool
	// Paid lets the route say that a plan has no room (402). No other does, whatever fails: published clients take that
	// code for a permission to go on without a plan.
	Paid bool
	// GetChanges marks a GET that changes something, because published clients send it so. It records what it
	// changes, and a HEAD of it is refused.
	GetChanges bool
	// WholeName marks a GET whose path ends with a name that some published clients do not escape: its slashes are part
	// of it.
	WholeName bool
	// OpenQuery takes query parameters that the route does not know. Other routes refuse them.
	OpenQuery bool

	// ClosedBody refuses unknown members of the body by name: a misspelled setting must not seem to be set.
	// Other routes take them, because published clients send them.
	ClosedBody bool

	respells   []respelling
	writeError func(w http.ResponseWriter, r *http.Request, failure *Failure)
	account    func(r *http.Request) string
}

// Get declares a route that reads.
func Get(path, summary string) Route {
	return Route{Method: http.MethodGet, Path: path, Summary: summary}
}

// Post declares a route that makes or does something.
func Post(path, summary string) Route {
	return Route{Method: http.MethodPost, Path: path, Summary: summary}
}

// Put declares a route that replaces something.
func Put(path, summary string) Route {
	return Route{Method: http.MethodPut, Path: path, Summary: summary}
}

// Patch declares a route that changes parts of something.
func Patch(path, summary string) Route {
	return Route{Method: http.MethodPatch, Path: path, Summary: summary}
}

// Delete declares a route that removes something.
func Delete(path, summary string) Route {
	return Route{Method: http.MethodDelete, Path: path, Summary: summary}
}

// For says who may call the route.
func (r Route) For(mode Mode) Route { r.Mode = mode; return r }

// Needs says what the role of a person must allow, in the organization the route is about.
func (r Route) Needs(action principal.Action) Route { r.Action = action; return r }

// Scoped says which scope an API key must have.
func (r Route) Scoped(scope principal.Scope) Route { r.Scope = scope; return r }

// Throttled limits how often the route may be called.
func (r Route) Throttled(rule throttle.Rule) Route { r.Throttle = rule; return r }

// ThrottledGuesses is Throttled for a route where only what fails is a guess: a request that succeeds does not use up
// what its account may try, but counts for its address. It is for routes of Handle and HandleOutput.
func (r Route) ThrottledGuesses(rule throttle.Rule) Route {
	r.Throttle, r.Guesses = rule, true
	return r
}

// ThrottledNew documents a limit on requests that open something new; the handler counts them.
func (r Route) ThrottledNew(rule throttle.Rule) Route { r.OpenThrottle = rule; return r }

// Records names the audit action of the change.
func (r Route) Records(action string) Route { r.Audit = action; return r }

// Unrecorded marks a change that gives and takes no right, and so is not in the audit log.
func (r Route) Unrecorded() Route { r.Audit = notRecorded; return r }

// Answers sets the status of success, where it is not 200.
func (r Route) Answers(status int) Route { r.Status = status; return r }

// UpTo limits the body further than the server does.
func (r Route) UpTo(bytes int64) Route { r.MaxBytes = bytes; return r }

// LimitedToo admits a person whose sign-in is valid for one organization only: the handler keeps to that one.
func (r Route) LimitedToo() Route { r.ForLimited = true; return r }

// StoppedToo admits a key that the kill switch has stopped.
func (r Route) StoppedToo() Route { r.ForStopped = true; return r }

// ForOperators admits only people who run this installation.
func (r Route) ForOperators() Route { r.Operators = true; return r }

// AsksAgain wants a fresh proof of the second factor, of people who have one.
func (r Route) AsksAgain() Route { r.AsksFactor = true; return r }

// WantsProof reports whether the route wants a fresh proof: if it says so, and for all that operators change.
func (r Route) WantsProof() bool { return r.AsksFactor || r.Operators && r.Audit != "" }

// MayAskForPayment lets the route answer 402 where the organization's plan has no room.
func (r Route) MayAskForPayment() Route { r.Paid = true; return r }

// WithWholeName has the slashes of the name that ends the path be part of it.
func (r Route) WithWholeName() Route { r.WholeName = true; return r }

// Configures marks a route whose body sets something up.
func (r Route) Configures() Route { r.ClosedBody = true; return r }

// Changing marks a GET that changes something.
func (r Route) Changing() Route { r.GetChanges = true; return r }

// WritesErrors has the function answer what fails, for clients that do not understand the one shape of errors. Only
// routes that write their answer by hand have it.
func (r Route) WritesErrors(write func(w http.ResponseWriter, r *http.Request, failure *Failure)) Route {
	r.writeError = write
	return r
}

// CountedBy says which account a request counts for in the throttle. Only routes that write their answer by hand
// have it; inputs of other routes are Accounted.
func (r Route) CountedBy(account func(r *http.Request) string) Route { r.account = account; return r }

// OrganizationScoped reports whether the path names an organization.
func (r Route) OrganizationScoped() bool { return strings.Contains(r.Path, orgSegment) }

// AboutPolicy reports whether the path names a policy.
func (r Route) AboutPolicy() bool { return strings.Contains(r.Path, policySegment) }

// AboutPlan reports whether the path names a plan.
func (r Route) AboutPlan() bool { return strings.Contains(r.Path, planSegment) }

// Limits is how the route table shows what limits the route.
func (r Route) Limits() string {
	if r.OpenThrottle.IsZero() {
		return r.Throttle.String()
	}
	return r.OpenThrottle.String() + " new"
}

// check refuses a declaration that would leave something open.
func (r Route) check() error {
	takesKeys := slices.Contains([]Mode{Key, PersonOrKey, PlanToken, Agent}, r.Mode)
	switch {
	case r.Mode == "":
		return fmt.Errorf("%s %s states no mode", r.Method, r.Path)
	case r.OrganizationScoped() && (r.Mode != Person || r.Action == ""):
		return fmt.Errorf("%s %s is organization-scoped: it must be for people and name an action", r.Method, r.Path)
	case r.AboutPolicy() && r.Action == "":
		return fmt.Errorf("%s %s is about a policy and names no action", r.Method, r.Path)
	case r.AboutPlan() && r.Action == "":
		return fmt.Errorf("%s %s is about a plan and names no action", r.Method, r.Path)
	case r.ForStopped && !takesKeys:
		return fmt.Errorf("%s %s takes no keys, so that none is stopped", r.Method, r.Path)
	case r.Operators && (r.Mode != Person || r.Action != "" || r.ForLimited):
		return fmt.Errorf("%s %s is for operators: for people, in no organization, with a whole sign-in", r.Method, r.Path)
	case takesKeys && r.Scope == "":
		return fmt.Errorf("%s %s takes keys and names no scope", r.Method, r.Path)
	case (r.Method == http.MethodGet && !r.GetChanges) != (r.Audit == ""):
		return fmt.Errorf("%s %s: a route states what it records exactly if it changes something", r.Method, r.Path)
	}
	return nil
}
