package toolcall

import "slices"

// Gap is an unknown part of a call: a variable of conditions, or a member below it, such as args, password. Two names
// are not variables: "paths" is the resolved paths, and "key" is the API key, with id, owner, role and agent.
type Gap []string

// Gaps are all unknown parts of a call. The call's values there mean nothing.
type Gaps []Gap

// Cover reports whether any part of what is at a path is unknown.
func (g Gaps) Cover(path ...string) bool {
	return slices.ContainsFunc(g, func(gap Gap) bool {
		n := min(len(gap), len(path))
		return slices.Equal(gap[:n], path[:n])
	})
}

// Without is the gaps except those at a path or below it.
func (g Gaps) Without(path ...string) Gaps {
	return slices.DeleteFunc(slices.Clone(g), func(gap Gap) bool {
		return len(gap) >= len(path) && slices.Equal(gap[:len(path)], path)
	})
}

// ForKeyAlone is the gaps of Call.ForKeyAlone, whose user has the role of the key's owner.
func (g Gaps) ForKeyAlone() Gaps {
	if !g.Cover("key", "role") || g.Cover("user", "role") {
		return g
	}
	return append(slices.Clip(g), Gap{"user", "role"})
}
