package policies

import (
	"writ/internal/fault"
	"writ/internal/policy"
)

// ChosenVersionBody names a version of a policy. It goes by two names everywhere, for an
// unknown member is not refused: one that was misnamed would be taken for the
// latest.
type ChosenVersionBody struct {
	Version       int `json:"version,omitempty" minimum:"1" maximum:"1000000" doc:"Which version of the policy. Absent: the latest, where there is one to choose."`
	PolicyVersion int `json:"policyVersion,omitempty" minimum:"1" maximum:"1000000" doc:"The same as version, by the name that policies are shown with. Give one of the two."`
}

// number is the version that is meant.
func (b *ChosenVersionBody) number() (int, error) {
	if b == nil {
		return policy.LatestVersion, nil
	}
	return oneVersion(b.Version, b.PolicyVersion)
}

func oneVersion(version, policyVersion int) (int, error) {
	switch {
	case version == 0:
		return policyVersion, nil
	case policyVersion != 0 && policyVersion != version:
		return 0, fault.Field("policyVersion", "must be absent, or the same as version")
	}
	return version, nil
}
