package plan

import (
	"fmt"
	"slices"
)

// Progress is how far a limited plan has been used.
type Progress struct {
	Last int           // the step of an ordered plan that was used last; -1: none yet
	Uses map[int]int64 // how often steps were used, by index
}

// Next chooses the step that a call uses, among those it fits. In an ordered plan it is
// the step after the last one, else the last one again: no step may be left out. In
// other plans it prefers a step without a limit.
func (p *Plan) Next(steps []int, at Progress) (step int, refused Result) {
	var usedUp, blocked []int
	best := -1
	for _, i := range steps {
		switch s := &p.Steps[i]; {
		case p.Ordered && i != at.Last && i != at.Last+1:
			blocked = append(blocked, i)
		case s.MaxCalls > 0 && at.Uses[i] >= s.MaxCalls:
			usedUp = append(usedUp, i)
		case best < 0, p.Ordered && i > best, !p.Ordered && s.MaxCalls == 0 && p.Steps[best].MaxCalls > 0:
			best = i
		}
	}
	switch {
	case best >= 0:
		return best, Result{}
	case len(usedUp) > 0:
		s := p.Steps[usedUp[0]]
		return -1, refuse(UsedUp,
			fmt.Sprintf("the plan allows step %d (%s) only %s: declare a new plan",
				usedUp[0], shown(s.Tool), usedTimes(s.MaxCalls)))
	case len(blocked) > 0:
		return -1, refuse(OutOfOrder, p.outOfOrder(blocked, at))
	}
	return -1, refuse(NotInPlan, "not in the plan; "+p.allows())
}

// usedTimes says how often a step may be used that was used so often.
func usedTimes(n int64) string {
	if n == 1 {
		return "once, and that is used up"
	}
	return fmt.Sprintf("%d times, and they are used up", n)
}

// Usable are those of the steps that a call may use now; if there is none, the refusal.
func (p *Plan) Usable(steps []int, at Progress) (usable []int, refused Result) {
	for i := range steps {
		if step, _ := p.Next(steps[i:i+1], at); step >= 0 {
			usable = append(usable, step)
		}
	}
	if len(usable) == 0 {
		_, refused = p.Next(steps, at)
	}
	return usable, refused
}

func (p *Plan) outOfOrder(blocked []int, at Progress) string {
	next := at.Last + 1
	if next < len(p.Steps) && slices.Max(blocked) > next {
		return fmt.Sprintf("the plan is ordered: step %d (%s) comes before this one", next, shown(p.Steps[next].Tool))
	}
	return fmt.Sprintf("the plan is ordered: this step is behind, as step %d was used last", at.Last)
}
