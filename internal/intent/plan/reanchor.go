package plan

import "slices"

// Reanchoring is what becomes of a plan that another one takes the place of.
type Reanchoring struct {
	// Widened and WidenedMay are what the plan before did not permit.
	Widened, WidenedMay []int
	// Carried are, by the index of a counted step, the steps whose uses count for it.
	Carried map[int]int
	// KeepsPosition: the position of an ordered plan stays as it is.
	KeepsPosition bool
	// Same are the steps that say the same as before, by their index then.
	Same map[int]int
}

// Reanchor compares a plan with the one whose place it takes. A counted step permits what the same step did, because
// its uses are carried over, and for one step only: two steps would count from the start. Of an ordered plan only the
// same steps at the beginning are permitted, because its position is their index.
func (d *Declared) Reanchor(p *Plan) Reanchoring {
	r := Reanchoring{Carried: map[int]int{}, Same: d.same(p), WidenedMay: p.WideningMay([]*Declared{d})}
	r.KeepsPosition = d.Plan.Ordered && p.Ordered
	var taken []int
	unchanged := true
	for i := range p.Steps {
		unchanged = unchanged && i < len(d.Plan.Steps) &&
			string(p.Steps[i].Binding(true)) == string(d.Plan.Steps[i].Binding(true))
		by := -1
		for j := range d.Plan.Steps {
			if d.Plan.Ordered && (!unchanged || j != i) || slices.Contains(taken, j) && d.Plan.Steps[j].MaxCalls > 0 {
				continue
			}
			if !d.widens(j) && CoversAt(d.Plan, j, p, i) {
				by = j
				break
			}
		}
		if by < 0 {
			r.Widened = append(r.Widened, i)
			continue
		}
		if d.Plan.Steps[by].MaxCalls > 0 {
			taken = append(taken, by)
			r.Carried[i] = by
		}
	}
	return r
}

func (d *Declared) same(p *Plan) map[int]int {
	same := map[int]int{}
	for j := range d.Plan.Steps {
		before := string(d.Plan.Steps[j].Binding(false))
		i := slices.IndexFunc(p.Steps, func(s Step) bool { return string(s.Binding(false)) == before })
		if i >= 0 {
			same[j] = i
		}
	}
	return same
}
