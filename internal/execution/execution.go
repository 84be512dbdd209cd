// Package execution is what happened after decisions: what agents report to have
// done, and what does not fit together.
//
// Published clients report in several shapes, more than once, and look at nothing
// of the answer but that there is one. Report reads each row by its members,
// takes secrets out of it, and appends it to the organization's log; a row that
// was sent before is known by its hash and counts once. A row that cannot be read
// harms no other. Rows go in small slices and the lane behind decisions.
//
// Reconcile follows the log from where it stopped. An allowed call waits for its
// outcome; a reported one takes the oldest call that waits and fits: the same
// plan, tool and arguments if possible, else what is left of these. The log orders
// both, so that nothing depends on when the job runs. What does not fit is a
// finding, and is kept:
//
//   - an execution that no decision allowed;
//   - an allowed call without an outcome after a quarter of an hour, where the
//     product has ever reported any;
//   - a gap in the numbers of a client that numbers its reports.
//
// What comes late after all resolves its finding, which stays to be seen.
//
// Reports are claims. They are kept as evidence of what a client said, and decide
// nothing.
package execution

import (
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/principal"
)

// Plans is what reports need of plans.
type Plans interface {
	// IDOf is the id of the plan that is shown, empty where the organization has none
	// such.
	IDOf(ctx context.Context, orgID string, shown plan.Presented) (string, error)
	// Issued is what a token was issued for. One that was not issued is Unauthenticated.
	Issued(ctx context.Context, shown plan.Presented) (plan.Binding, error)
	// Digest is that of arguments in canonical form.
	Digest(ctx context.Context, orgID, canonical string) ([]byte, error)
}

// Keys is what reports need of API keys.
type Keys interface {
	// Holder is the caller behind a key, or an Unauthenticated fault.
	Holder(ctx context.Context, keyID string) (principal.Principal, error)
	// ProductOf is the product of a key, empty where it has none.
	ProductOf(ctx context.Context, r database.Reader, keyID string) (string, error)
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
}

// New makes the service.
func New(db *database.DB, log *audit.Log, plans Plans, keys Keys) *Service {
	return &Service{db: db, log: log, plans: plans, keys: keys}
}
