package engine

import (
	"cmp"

	"writ/internal/confine"
)

// Narrower is what both limits permit. Either may be nil, which permits everything.
func Narrower(a, b *confine.Limits) *confine.Limits {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	both := a.Intersect(*b)
	return &both
}

// StricterThan reports whether a decision permits less than another: by its verdict, or because only it confines the
// call.
func (d *Decision) StricterThan(other *Decision) bool {
	if d.Verdict != other.Verdict {
		return d.Verdict < other.Verdict
	}
	return d.Confine != nil && other.Confine == nil
}
