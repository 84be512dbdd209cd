package engine

import "slices"

// usualLists is how many lists of the index a call is in at most, usually.
const usualLists = 16

// merge goes through several lists of places as if they were one, in order and
// each place once. It looks no further than it is asked to: most decisions need
// only the beginning.
type merge struct{ lists [][]int32 }

// newMerge takes the lists over. Where there are more than usual, as when
// thousands of patterns name one tool, they are put together at once: looking
// at all of them for every place would take their number squared.
func newMerge(lists [][]int32) merge {
	if len(lists) <= usualLists {
		return merge{lists}
	}
	all := slices.Concat(lists...)
	slices.Sort(all)
	return merge{[][]int32{slices.Compact(all)}}
}

// next is the next place, if there is one.
func (m *merge) next() (place int32, ok bool) {
	for _, list := range m.lists {
		if len(list) > 0 && (!ok || list[0] < place) {
			place, ok = list[0], true
		}
	}
	if !ok {
		return 0, false
	}
	for i, list := range m.lists {
		if len(list) > 0 && list[0] == place {
			m.lists[i] = list[1:]
		}
	}
	return place, true
}
