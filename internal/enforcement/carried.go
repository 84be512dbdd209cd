package enforcement

import (
	"context"

	"writ/internal/database"
	"writ/internal/intent/plan"
	"writ/internal/obligation"
	"writ/internal/verdict"
)

// Carried is what the proxy says of a call that it would carry out.
type Carried struct {
	// Proof proves the step of the call; nil: the client sent none. ProofRequired says that it must, unless a person
	// has agreed otherwise.
	Proof         *plan.Claim
	ProofRequired ProofRule
	// Problem is why the proxy cannot carry the call out; empty: it can. Such a call is denied, whatever policies say.
	Problem string
	// OwnCredentials: the call goes to its server with credentials of the caller's own.
	OwnCredentials bool
	// Recorded is called in the transaction that records the decision; nil: nobody else stores it.
	Recorded func(ctx context.Context, tx *database.Tx, d Recorded) error
}

// Recorded is a decision about a call that is carried out elsewhere, as it is recorded.
type Recorded struct {
	ID, AgentID, ApprovalID string
	Verdict                 verdict.Verdict
	Oblige                  *obligation.Set
}

// ProofRule says whether a call must prove the step of its plan. The zero value demands it.
type ProofRule int

// The rules about proofs.
const (
	ProofDemanded ProofRule = iota
	ProofByAgent            // unless a person has set ProofsOptional of the agent
	ProofOptional           // what the client sends must hold, and it may send nothing
)

// RuleNotCarried is the rule of the deny of a call that the proxy cannot carry out.
const RuleNotCarried = "not_carried"

// mustProve reports whether the call must prove a step of its plan, so that one outside of it cannot run.
func (c *call) mustProve(v *view) bool {
	carried := c.request.Carried
	if carried == nil || carried.ProofRequired == ProofOptional {
		return false
	}
	return carried.ProofRequired != ProofByAgent || !v.agent.ProofsOptional
}

// checkProof demands of a call that the proxy would carry out that it proves its step.
func (c *call) checkProof(v *view, fit plan.Result) plan.Result {
	carried := c.request.Carried
	if carried == nil || !fit.OK && fit.Drift != plan.Widened {
		return fit
	}
	if carried.Proof == nil {
		if c.mustProve(v) {
			return plan.Unproved()
		}
		return fit
	}
	if proved := v.plan.ProveCall(fit.Steps, *carried.Proof); !proved.OK {
		return proved
	}
	return fit
}
