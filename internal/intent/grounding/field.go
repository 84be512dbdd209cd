package grounding

import (
	"slices"
	"strings"
	"unicode"
)

// field looks for a field that equals a value. Its origin is FromField if one grounds
// the value, else says why none does; empty: there is none.
func (j *judge) field(folded string, kind address) (found Reason) {
	for _, o := range j.outputs {
		for i := range o.equal(folded) {
			reason := Reason{Origin: FromField, Of: o.tool}
			switch {
			case o.echoes(folded):
				reason.Origin = FromEcho
			case j.blind():
				reason.Origin = Nowhere
			case j.led(o):
				reason.Origin = FromText
			case kind != noAddress && o.records[o.leaves[i].record].long && !j.pointed(o, i):
				reason.Origin = FromText
			default:
				if of := j.mentioned(folded); of != "" {
					return Reason{Origin: FromText, Of: of}
				}
				return reason
			}
			if found.Origin == "" {
				found = reason
			}
		}
	}
	return found
}

// led reports whether only a text says what the call of an output asked with: then it says which output there is, too.
func (j *judge) led(o *Output) bool {
	if known, ok := j.ledTo[o]; ok {
		return known // false while it is being found out
	}
	if j.ledTo == nil {
		j.ledTo = map[*Output]bool{}
	}
	j.ledTo[o] = false
	j.ledTo[o] = slices.ContainsFunc(o.asked, func(a argument) bool {
		return a.kind == Identity && j.identity(a.name, a.value, a.folded).Origin == FromText
	})
	return j.ledTo[o]
}

// echoes reports whether the call of an output asked with the value.
func (o *Output) echoes(folded string) bool {
	return slices.ContainsFunc(o.asked, func(a argument) bool { return mentions(a.folded, folded) })
}

// mentioned is the tool whose running text mentions a value; empty: none does. A leaf
// that is the value is not a text about it.
func (j *judge) mentioned(folded string) string {
	number, sought := isNumber(folded), whole(folded)
	for _, o := range j.outputs {
		for i := range o.holding(sought) {
			l := &o.leaves[i]
			if l.folded == folded || j.user.hold(l.folded) {
				continue
			}
			if number && marksNumber(l.folded, folded) || !number && mentions(l.folded, folded) {
				return o.tool
			}
		}
	}
	return ""
}

// marksNumber reports whether a text uses a short number as an id: in quotes, or behind
// a word such as id.
func marksNumber(text, number string) bool {
	return find(text, number, func(text string, from, to int) bool {
		if !ownLetters(text, from, to) || from == 0 {
			return false
		}
		if strings.IndexByte("'\"`#", text[from-1]) >= 0 {
			return true
		}
		before := strings.TrimRight(text[:from], " :=#('\"`")
		word := before[strings.LastIndexAny(before, " ,;:.(")+1:]
		return idMarks[word]
	}) >= 0
}

// pointed reports whether the user pointed at a leaf: by what they told the read to ask
// for, or by another field of the leaf's record.
func (j *judge) pointed(o *Output, at int) bool {
	if o.class == Read && j.pointedAtRead(o) {
		return true
	}
	record := o.leaves[at].record
	for i := range o.leaves {
		l := &o.leaves[i]
		if i != at && l.record == record && l.folded != o.leaves[at].folded && names(l) && j.user.hold(l.folded) {
			return true
		}
	}
	return false
}

// pointedAtRead reports whether all texts that the read asked with are the user's or
// were used, and it asked with any.
func (j *judge) pointedAtRead(o *Output) bool {
	any := false
	for _, a := range o.asked {
		if a.kind == Scalar {
			continue
		}
		if _, ok := j.own(a.folded); !ok {
			return false
		}
		any = true
	}
	return any
}

// minName is how long a field must be to name something.
const minName = 3

// names reports whether a field names something, so that a user who says it means this
// record. A plain word such as "sent" does not.
func names(l *leaf) bool {
	text := strings.TrimSpace(l.text)
	if len(text) < minName || isDate(text) || isNumber(text) {
		return false
	}
	return strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLower(r) })
}
