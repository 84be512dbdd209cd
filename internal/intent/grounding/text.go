package grounding

import (
	"slices"

	"writ/internal/toolname"
)

// text looks for a value in running text. Its origin is FromRead if text that the user
// pointed at grounds it.
func (j *judge) text(name, folded string, kind address) Reason {
	found, sought := Reason{Origin: Nowhere}, whole(folded)
	for _, o := range j.outputs {
		for i := range o.holding(sought) {
			l := &o.leaves[i]
			at := find(l.folded, folded, ownLetters)
			if at < 0 {
				continue
			}
			commanded := ordered(l.folded, at, at+len(folded))
			if j.readable(o, i, name, folded, kind) && (!commanded || j.call.Class == Read) {
				return Reason{Origin: FromRead, Of: o.tool}
			}
			if found.Origin == Nowhere || commanded && !found.Ordered {
				found = Reason{Origin: FromText, Of: o.tool, Ordered: commanded}
			}
		}
	}
	return found
}

// readable reports whether a value may be taken from a leaf of running text, if that
// does not order it.
func (j *judge) readable(o *Output, at int, name, folded string, kind address) bool {
	l := &o.leaves[at]
	switch {
	case j.blind(), kind == account, j.call.Class == Execute, slices.Contains(j.plan.Fixed, name),
		toolname.SameTool(o.tool, j.call.Tool):
		return false
	case !holds(l.folded, folded), o.echoes(folded):
		return false
	case kind == mailAddress && another(mails(l.text), folded), kind == webAddress && another(links(l.text), folded):
		return false
	}
	return j.pointed(o, at) && !j.led(o)
}

// another reports whether there is an address beside the value.
func another(found []string, value string) bool {
	return slices.ContainsFunc(found, func(address string) bool { return address != value })
}
