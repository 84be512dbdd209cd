package grounding

import (
	"cmp"
	"slices"
	"strings"
)

// copiedWords are the fewest words that are a copy of a text.
const copiedWords = 3

// prose doubts a text that stands inside of longer running text, or brings a link from it.
func (j *judge) prose(a *argument) (Reason, bool) {
	folded := fold(a.value)
	if j.user.hold(folded) || slices.Contains(j.given, a.folded) {
		return Reason{}, false
	}
	sought := part(folded)
	if countWords(folded, copiedWords) >= copiedWords {
		if j.unknown {
			return Reason{Argument: a.path, Origin: Nowhere}, true // it may be copied from what nobody reported
		}
		for _, o := range j.outputs {
			if at := j.copied(o, sought); at != none {
				l := o.leaves[at].folded
				from := strings.Index(l, folded)
				commanded := ordered(l, from, from+len(folded))
				return Reason{Argument: a.path, Origin: FromCopy, Of: o.tool, Ordered: commanded}, true
			}
		}
	}
	for _, link := range links(a.value) {
		of := cmp.Or(j.mentioned(link), j.mentioned(hostOf(link)))
		if of == "" && !j.unknown {
			continue
		}
		if found := j.identity("url", "//"+link, link); !found.Origin.grounds() {
			return Reason{Argument: a.path, Origin: FromLink, Of: of, Ordered: found.Ordered}, true
		}
	}
	return Reason{}, false
}

// copied is the leaf of running text that holds a text and more; -1: none.
func (j *judge) copied(o *Output, v value) int {
	for i := range o.holding(v) {
		l := &o.leaves[i]
		if len(l.folded) > len(v.text) && strings.Contains(l.folded, v.text) && !j.user.hold(l.folded) {
			return i
		}
	}
	return none
}
