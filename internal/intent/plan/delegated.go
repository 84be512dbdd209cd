package plan

import (
	"fmt"
	"strings"
	"time"
)

// MaxDelegations is how many delegations may hang on each other below a declared plan.
const MaxDelegations = 8

// Delegation is how a plan was delegated. It narrows the plan before it, and is used by whoever holds its key.
type Delegation struct {
	// Envelope: a published SDK made it, which shows the parent's token with the sub-tree and has no token of its own.
	Envelope bool
	Depth    int    // from 1: how many delegations there are up to the declared plan
	Further  int    // how many may follow
	Delegate string // its public key: of Ed25519 in hex, unless it is an envelope
	AgentID  string // the agent that may use it; empty: whoever holds the key
	Budget   int64  // how many calls may be made under it and whatever was delegated from it; 0: any number
	// ParentRoot is the parent's root when it was delegated, and Subtree the path of an envelope in it.
	ParentRoot, Subtree string
}

// Lineage is the plan and all that it was delegated from, the nearest first.
func (d *Declared) Lineage() []*Declared { return append([]*Declared{d}, d.Chain...) }

// Narrowing finds, for each step of a plan that is delegated, the step of a part of this one that covers it; -1: none
// does. What a person has not agreed to yet covers nothing. A plan whose steps are ordered covers only ordered steps,
// in its order.
func (d *Declared) Narrowing(child *Plan, part Subtree) []int {
	by := make([]int, len(child.Steps))
	last := 0
	for i := range child.Steps {
		by[i] = -1
		for _, j := range part.Steps {
			if !d.widens(j) && CoversAt(d.Plan, j, child, i) && (!d.Plan.Ordered || j >= last) {
				by[i], last = j, j
				break
			}
		}
	}
	return by
}

// CoversAt reports whether step j of a plan covers step i of another one.
func CoversAt(parent *Plan, j int, child *Plan, i int) bool {
	return (!parent.Ordered || child.Ordered) && parent.Steps[j].covers(&child.Steps[i])
}

// CheckChain checks that a delegation and every plan that it came from may authorize anything now.
func (d *Declared) CheckChain(now time.Time) Result {
	if d.Delegation == nil || len(d.Chain) == 0 || len(d.Chain) != d.Delegation.Depth {
		return refuse(Beyond, "the delegation does not lead to a plan that was declared")
	}
	if d.Chain[len(d.Chain)-1].Delegation != nil {
		return refuse(Beyond, "the delegation does not lead to a plan that was declared")
	}
	for i, link := range d.Lineage() {
		what, drift := "the delegation", Drift("")
		if i > 0 {
			what, drift = "a plan that the delegation came from", Beyond
		}
		switch {
		case link.Binding.OrgID == "" || link.Binding.OrgID != d.Binding.OrgID:
			return refuse(Beyond, "the delegation does not lead to a plan that was declared")
		case link.Status != Active:
			return refuse(orDrift(drift, Ended), what+" has ended or was revoked ("+string(link.Status)+")")
		case !now.Before(link.Expires):
			return refuse(orDrift(drift, NotCurrent),
				what+" expired at "+link.Expires.UTC().Format(time.RFC3339)+": ask for a new delegation")
		case link.Issued.After(now.Add(clockSkew)):
			return refuse(orDrift(drift, NotCurrent), what+" was issued in the future")
		}
	}
	return Result{OK: true}
}

func orDrift(drift, otherwise Drift) Drift {
	if drift == "" {
		return otherwise
	}
	return drift
}

// IsIssued reports whether what a call presents of a delegation is what was issued. It may present no more than the
// delegation's id, because the proof of possession covers its token.
func (d *Declared) IsIssued(p Presented) bool {
	return !d.altered(p) && (p.Signature == "" && p.JWT == "" || d.genuine(p))
}

// FitChain finds the steps that a call fits in the delegation and in each plan that it came from, in the order of
// Lineage. The call must fit all of them, as they are now, whatever was true when it was delegated.
func (d *Declared) FitChain(call Call) (fit Result, steps [][]int) {
	for i, link := range d.Lineage() {
		r := link.Fit(call)
		if i == 0 {
			fit = r
		}
		switch {
		case r.OK:
			steps = append(steps, r.Steps)
		case i == 0:
			return r, nil
		default:
			return refuse(Beyond, "a plan that the delegation came from does not permit the call any more"), nil
		}
	}
	return fit, steps
}

// Narrowed writes a plan that has only some steps of this one, to be parsed and compared like any other.
func (p *Plan) Narrowed(steps []int, goal string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"goal":%s,"ordered":%t,"steps":[`, quoted(goal), p.Ordered)
	for n, i := range steps {
		s := &p.Steps[i]
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"action":%s,"mcp":%s,"params":%s,"strict":%t`, quoted(s.Action), quoted(s.Server),
			s.Arguments().Text(), s.Strict)
		if s.MaxCalls > 0 {
			fmt.Fprintf(&b, `,"max_calls":%d`, s.MaxCalls)
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	if p.Source != "" {
		fmt.Fprintf(&b, `,"source":%s`, quoted(p.Source))
	}
	b.WriteByte('}')
	return []byte(b.String())
}
