package admission

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
)

// The codes of refusals for want of a second factor.
const (
	// ProofRequired asks the caller to prove the second factor they have.
	ProofRequired = "second_factor_required"
	// EnrolmentRequired asks the caller to add one.
	EnrolmentRequired = "second_factor_enrolment_required"
)

// FreshProof is how long a proof of the second factor permits what a thief must not do.
const FreshProof = 10 * time.Minute

// CheckSignIn enforces how an organization wants its members to have signed in.
func (g *Gate) CheckSignIn(ctx context.Context, caller principal.Principal, orgID string, role principal.Role) error {
	if err := g.CheckVouched(ctx, caller, orgID, role); err != nil {
		return err
	}
	return g.CheckFactor(ctx, caller, orgID)
}

// CheckFactor refuses a member who has not proved a second factor in this session, where the organization wants one.
// Owners are not exempt: whoever made the rule has proved their own factor. Adding a factor ends the keys of a person's
// terminals, so every terminal key that works was made by a session that proved the factor; here its owner need only
// have one still. An agent's key is nobody's sign-in, so it is not asked.
func (g *Gate) CheckFactor(ctx context.Context, caller principal.Principal, orgID string) error {
	isAgent := caller.Kind == principal.Key && !caller.HasScope(principal.CLI)
	if isAgent || !caller.SecondFactor.ProvedAt.IsZero() {
		return nil
	}
	required, err := g.Organizations.RequiresSecondFactor(ctx, orgID)
	if err != nil || !required {
		return err
	}
	enrolled := caller.SecondFactor.Enrolled
	if caller.Kind == principal.Key {
		if enrolled, err = g.Factors.Enrolled(ctx, caller.UserID); err != nil || enrolled {
			return err
		}
	}
	if enrolled {
		return fault.New(fault.Forbidden, "this organization wants its members to prove their second factor: "+
			"send a code of your app to POST /user/second-factor/proof").Coded(ProofRequired)
	}
	return fault.New(fault.Forbidden, "this organization wants its members to have a second factor: "+
		"add one in your account, or with POST /user/second-factor").Coded(EnrolmentRequired)
}

// checkFresh refuses a person who has a second factor and did not prove it within the last minutes, where the route
// wants that.
func (g *Gate) checkFresh(caller principal.Principal, r route.Route) error {
	factor := caller.SecondFactor
	if !r.WantsProof() || caller.Kind != principal.User || !factor.Enrolled {
		return nil
	}
	if !factor.ProvedAt.IsZero() && g.Now != nil && g.Now().Sub(factor.ProvedAt) < FreshProof {
		return nil
	}
	return fault.New(fault.Forbidden, "prove your second factor again before this: "+
		"send a code of your app to POST /user/second-factor/proof").Coded(ProofRequired)
}
