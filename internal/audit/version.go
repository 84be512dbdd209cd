package audit

// Version is a state of a log. Its generation grows with every change that a decision
// may depend on; a restore begins another epoch.
type Version struct{ Generation, Epoch int64 }

// Covers reports whether what was read at v is as new as other. Versions of different
// epochs cannot be compared.
func (v Version) Covers(other Version) bool {
	return v.Epoch == other.Epoch && v.Generation >= other.Generation
}
