package toolcall

import "slices"

// Gap is a part of a call that nobody can tell any more: a variable of conditions,
// or a member below it, as in args, password. Two more names are not for
// conditions: "paths" is what paths really are, and "key" who the key belongs to,
// with owner and role.
type Gap []string

// Gaps are all that is not known of a call. What the call has in such a place
// means nothing.
type Gaps []Gap

// Cover reports whether a gap holds some of what stands at a path, or all of it.
func (g Gaps) Cover(path ...string) bool {
	return slices.ContainsFunc(g, func(gap Gap) bool {
		n := min(len(gap), len(path))
		return slices.Equal(gap[:n], path[:n])
	})
}

// Without are the gaps that are not at a path or below it.
func (g Gaps) Without(path ...string) Gaps {
	return slices.DeleteFunc(slices.Clone(g), func(gap Gap) bool {
		return len(gap) >= len(path) && slices.Equal(gap[:len(path)], path)
	})
}

// ForKeyAlone are the gaps of the call for its key alone, whose user has the role of
// the key's owner.
func (g Gaps) ForKeyAlone() Gaps {
	if !g.Cover("key", "role") || g.Cover("user", "role") {
		return g
	}
	return append(slices.Clip(g), Gap{"user", "role"})
}
