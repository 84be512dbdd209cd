// Package enforcement answers whether a tool call may run.
//
// Decide puts together what other packages say, in a fixed order; the first
// that does not allow, decides:
//
//	agent ──> intent ──> policy ──> approval
//
// It first reads what is remembered of the organization and judges the call
// without the database. Then one transaction makes it so: it compares the
// generation of the organization's log with that of what was remembered, and if
// anything changed since, all is judged again; it claims what the call uses up;
// it appends the decision to the log and stores it. No commit, no allow.
// Whatever fails on the way is a deny with a reason.
package enforcement

import (
	"time"

	"writ/internal/audit/ledger"
	"writ/internal/intent/plan"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// Request is a call to be judged, as a surface hands it over. All of it is what
// the client says, but for what the surface itself knows.
type Request struct {
	Server    string // empty: not stated
	Tool      string
	Arguments []byte // raw JSON; nil: {}

	// Presented is what the call shows of its plan. TokenRequired: without one
	// it is denied.
	Presented     plan.Presented
	TokenRequired bool

	AgentID, UserID, UserEmail, SessionID, ContextID string
	Source                                           string // the client: gemini-cli, ...
	Environment                                      string // where the key does not say
	Labels                                           []string
	// ResolvedPaths says what paths in the arguments really are where the agent
	// runs.
	ResolvedPaths map[string]string
}

// Answer is what was decided. The zero value denies.
type Answer struct {
	verdict.Ruling

	DecisionID string
	PlanID     string
	Step       int // of the plan; -1: none
	Server     string

	// ApprovalID is the request that a hold or ask waits for, or whose grant let
	// the call run. Approvers are who may answer it, where the rule says.
	ApprovalID string
	Approvers  *document.Approvers

	// Recorded: the decision is in the log, and Receipt proves it.
	Recorded bool
	Receipt  *ledger.Receipt
	Duration time.Duration
}

// Allowed reports whether the call may run: it is allowed, and that is recorded.
func (a Answer) Allowed() bool { return a.Verdict == verdict.Allow && a.Recorded }
