package plan

import "slices"

// Fit finds the steps of the declared plan that a call fits. A call that fits only
// widened steps is not OK: it waits for a person.
func (d *Declared) Fit(call Call) Result {
	r := d.Plan.Fit(call)
	if !r.OK || len(d.Widened) == 0 {
		return r
	}
	agreed := slices.DeleteFunc(slices.Clone(r.Steps), d.widens)
	if len(agreed) > 0 {
		return Result{OK: true, Steps: agreed}
	}
	return Result{
		Steps: r.Steps, Drift: Widened,
		Reason: "this step was added while an earlier plan of the same session or context was live: a person must agree to it",
	}
}

func (d *Declared) widens(step int) bool {
	_, found := slices.BinarySearch(d.Widened, step)
	return found
}

// Widening are the indexes of the steps of a plan, ascending, that none of the earlier
// plans permits. Without earlier plans there is nothing to widen.
func (p *Plan) Widening(before []*Declared) []int {
	if len(before) == 0 {
		return nil
	}
	var widening []int
	for i := range p.Steps {
		if !slices.ContainsFunc(before, func(d *Declared) bool { return d.permits(&p.Steps[i]) }) {
			widening = append(widening, i)
		}
	}
	return widening
}

// permits reports whether an agreed step already permits every call of a new step.
// Ordered or counted steps permit none: a new plan would count from the start.
func (d *Declared) permits(s *Step) bool {
	if d.Plan.Ordered {
		return false
	}
	for i := range d.Plan.Steps {
		if old := &d.Plan.Steps[i]; !d.widens(i) && old.MaxCalls == 0 && old.covers(s) {
			return true
		}
	}
	return false
}

// covers reports whether the other step permits no more than this one, under every constraint that a step has: its
// tool, the arguments that it fixes, those that it leaves free, and how often it may be used. New plans and delegations
// are compared by it alone.
func (s *Step) covers(other *Step) bool {
	if s.Server != other.Server || s.name != other.name || s.Strict && !other.Strict {
		return false
	}
	if s.MaxCalls > 0 && (other.MaxCalls == 0 || other.MaxCalls > s.MaxCalls) {
		return false
	}
	for _, c := range s.Given {
		if !slices.Contains(other.Given, c) {
			return false
		}
	}
	return !s.Strict || !slices.ContainsFunc(other.Given, func(c Constraint) bool { return !s.gives(c.Key) })
}
