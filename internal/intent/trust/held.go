package trust

import (
	"time"

	"writ/internal/intent/plan"
)

// Held checks that a delegation is the one that was issued, may authorize anything now with all that it came from, and
// that whoever made the request holds its key. The plan of an envelope is held by whoever has its parent's token, which
// is checked elsewhere.
func Held(d *plan.Declared, shown plan.Presented, proof *Proof, r Request, now time.Time) plan.Result {
	if !d.IsIssued(shown) {
		return plan.Result{
			Drift: plan.NotGenuine, Reason: "the token is not the one issued for this delegation: use the token as it was issued",
		}
	}
	if d.Delegation.Envelope {
		return plan.Result{Drift: plan.NotHeld, Reason: "this delegation has no token: show its plan's, with the sub-tree"}
	}
	if proof == nil {
		return plan.Result{
			Drift: plan.NotHeld, Reason: "a delegation counts only with a proof that the caller holds its key (X-Writ-Proof)",
		}
	}
	if err := proof.Check(d.Delegation.Delegate, d.ID, d.JWTHash, r, now); err != nil {
		return plan.Result{Drift: plan.NotHeld, Reason: err.Error()}
	}
	return d.CheckChain(now)
}
