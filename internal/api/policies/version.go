package policies

import (
	"writ/internal/fault"
	"writ/internal/policy"
)

// ChosenVersionBody names a version of a policy. Either name works on every route: unknown members are ignored, so that
// a wrong name would otherwise mean the latest version.
type ChosenVersionBody struct {
	Version       int `json:"version,omitempty" minimum:"1" maximum:"1000000" doc:"Which version of the policy. Absent: the latest, if the route has a default."`
	PolicyVersion int `json:"policyVersion,omitempty" minimum:"1" maximum:"1000000" doc:"The same as version, under the name that policies have. Give one of the two."`
}

// number is the version that was given.
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
