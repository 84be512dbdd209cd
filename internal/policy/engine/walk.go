package engine

import (
	"iter"
	"slices"

	"writ/internal/toolcall"
)

// candidates yields the rules whose patterns name the call's tool, and whether
// each one's policy applies to the caller. The strictest effect comes first, then
// the order is that of ranking.entries. Everything that asks a set about a call walks
// its rules here.
func (s *Set) candidates(call *toolcall.Call, gaps toolcall.Gaps) iter.Seq2[*entry, tristate] {
	return walk(s.seenBy(call), call, gaps)
}

// walk is candidates for some of the rules.
func walk(seen *ranking, call *toolcall.Call, gaps toolcall.Gaps) iter.Seq2[*entry, tristate] {
	return func(yield func(*entry, tristate) bool) {
		var room [usualLists][]int32
		server, tool := call.Name()
		rules := newMerge(seen.index.find(server, tool, room[:0]))
		for i, more := rules.next(); more; i, more = rules.next() {
			e := &seen.entries[i]
			if !yield(e, e.policy.appliesTo(call, gaps)) {
				return
			}
		}
	}
}

// usualLists is how many lists of the index a tool is in at most, usually.
const usualLists = 16

// merge reads several sorted lists as if they were one without repeats. It reads
// no further than it is asked to: most decisions need only the beginning.
type merge struct{ lists [][]int32 }

// newMerge takes ownership of the lists. If there are unusually many, as when
// thousands of patterns name one tool, it joins them at once: comparing the heads
// of all for every entry would take their number squared.
func newMerge(lists [][]int32) merge {
	if len(lists) <= usualLists {
		return merge{lists}
	}
	all := slices.Concat(lists...)
	slices.Sort(all)
	return merge{[][]int32{slices.Compact(all)}}
}

func (m *merge) next() (least int32, ok bool) {
	for _, list := range m.lists {
		if len(list) > 0 && (!ok || list[0] < least) {
			least, ok = list[0], true
		}
	}
	if !ok {
		return 0, false
	}
	for i, list := range m.lists {
		if len(list) > 0 && list[0] == least {
			m.lists[i] = list[1:]
		}
	}
	return least, true
}
