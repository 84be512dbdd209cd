package carrier

import (
	"context"

	"writ/internal/enforcement"
)

// Refuse records a call that cannot be carried out, and why. Nothing is sent, whatever the answer is.
func (c *Carrier) Refuse(ctx context.Context, by Caller, call Call, problem string) enforcement.Answer {
	call.Arguments, call.CanConfine, call.CanOblige = strip(call), false, false
	call.Request.Carried = &enforcement.Carried{ProofRequired: call.Proof.ProofRequired, Problem: problem}
	o := Outcome{Answer: c.Enforcement.Decide(ctx, by.Principal, call.Request)}
	c.tally.add(&o, 0)
	return o.Answer
}
