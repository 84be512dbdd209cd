// Package execution stores what agents report to have done after decisions, and finds
// what does not match.
//
// Published clients report in several shapes and more than once, and only check that
// there is an answer. Report reads each row by its members, removes secrets, and appends
// it to the organization's log. A row that was sent before is recognized by its hash and
// counts once; one that cannot be read does not harm the others. Rows go in small slices
// through the lane behind decisions; a small one of the proxy goes with them, because an
// agent waits for the result of its call until that is recorded.
//
// Reconcile follows the log from where it stopped. An allowed call waits for its outcome;
// a report takes the oldest waiting call that fits: the same plan, tool and arguments if
// possible, else the best match. The log orders both, so that the result does not depend
// on when the job runs. What does not match is a finding:
//
//   - an execution that no decision allowed;
//   - an execution with other arguments than the step states that was allowed before
//     anybody had seen them (see enforcement.VerifyStep). It ends the plan when it is
//     reported. Or one with other arguments than were decided, as its client saw;
//   - an execution that was allowed only confined, and was not, or not as narrowly;
//   - something that the kernel refused to a confined call;
//   - an execution that its client decided by a lease, and that the lease does not permit;
//   - a gap in the numbers of the calls under a lease;
//   - an allowed call without an outcome after a quarter of an hour, if the product has
//     ever reported any;
//   - a gap in the numbers of a client that numbers its reports;
//   - instructions or a secret in the result of a call that the proxy has carried out.
//
// A late report resolves its finding, which stays visible.
//
// Reports are claims: evidence of what a client said. They allow nothing. But a report
// that takes its decision (the same key, plan, tool and arguments, in its own
// transaction) tells what the tool returned, and calls are grounded in that.
package execution

import (
	"context"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/principal"
)

// Plans is what reports need of plans.
type Plans interface {
	// Reported is the plan that a key's report presents; zero: the organization has no such plan.
	Reported(ctx context.Context, orgID, keyID string, shown plan.Presented) (scope.Under, error)
	// Issued is what a token was issued for. One that was not issued is Unauthenticated.
	Issued(ctx context.Context, shown plan.Presented) (plan.Binding, error)
	// Digest is that of arguments in canonical form.
	Digest(ctx context.Context, orgID, canonical string) ([]byte, error)
	// EndIfOther ends a plan if a call has other arguments than its step was allowed by, and reports whether it has.
	// decided reports whether decisions about calls cover one that fits these steps.
	EndIfOther(
		ctx context.Context, tx *database.Tx, by principal.Principal, planID string, call plan.Call,
		decided func(steps []int) (bool, error),
	) (other bool, err error)
}

// Keys is what reports need of API keys.
type Keys interface {
	// Holder is the caller behind a key, or an Unauthenticated fault.
	Holder(ctx context.Context, keyID string) (principal.Principal, error)
}

// Leases is what reports need of leases.
type Leases interface {
	// Presented is the id of the lease that a client presents, as its id or its text; a problem says why it is none.
	Presented(ctx context.Context, orgID, shown string) (id, problem string, err error)
	// Use checks a call against its lease, within the change that stores the report.
	Use(ctx context.Context, tx *database.Tx, use LeaseUse) (LeaseUsed, error)
}

// Heard is what becomes, in an organization, of outputs that no decision waits for.
type Heard func(ctx context.Context, orgID string, planned bool) (scope.Heard, error)

// LeaseUse is a call that a client says it decided by a lease.
type LeaseUse struct {
	OrgID, KeyID, AgentID, UserID string // the key that reports; agent and user may be empty
	LeaseID                       string
	Server, Tool                  string
	Number                        *int64    // as the client counts the calls of the lease; nil: it does not
	At                            time.Time // by the client's clock; zero: not stated
	ExecutionID                   string
	Blocked                       bool // it did not run: only its number counts
}

// LeaseUsed is what the report of a call under a lease shows.
type LeaseUsed struct {
	Problem     string // why the call does not fit; empty: it does
	First, Last int64  // the numbers before this one that no report had; none: Last is less than First
	Late        bool   // the number is one that was missing
}

// Status of an execution.
const (
	Success = "success"
	Failed  = "failed"
	Blocked = "blocked" // the client says that it did not run
	Unknown = "unknown" // the client does not say
)

// ActionReported is the action of a report's entry in the log.
const ActionReported = "call.executed"

// Service is the area's one entry.
type Service struct {
	db    *database.DB
	log   *audit.Log
	plans Plans
	keys  Keys

	outputs Outputs
	heard   Heard
	leases  Leases
	names   Names
}

// New makes the service.
func New(
	db *database.DB, log *audit.Log, plans Plans, keys Keys, outputs Outputs, heard Heard, leases Leases,
	called Names,
) *Service {
	return &Service{
		db:      db,
		log:     log,
		plans:   plans,
		keys:    keys,
		outputs: outputs,
		heard:   heard,
		leases:  leases,
		names:   called,
	}
}
