// Package referrals serves the codes by which organizations are referred, and what that earned.
package referrals

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/principal"
	"writ/internal/referral"
	"writ/internal/throttle"
)

// Handlers serve referrals.
type Handlers struct{ Referrals *referral.Service }

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("referral")
	route.Handle(r, route.Get("/referral/code", "The code of the organization").
		For(route.Person).Needs(principal.ReadOrganization), h.code)
	route.Handle(r, route.Post("/referral/code", "Make the organization's code, unless it has one").
		For(route.Person).Needs(principal.UpdateOrganization).Records("referral.code_made"), h.makeCode)
	route.Handle(r, route.Post("/referral/claim", "Say who referred the organization: once, for good").
		For(route.Person).Needs(principal.UpdateOrganization).Throttled(throttle.ClaimReferral).
		Records("referral.claimed").Configures(), h.claim)
	route.Handle(r, route.Get("/referral/stats", "What the organization's code brought it").
		For(route.Person).Needs(principal.ReadOrganization), h.stats)
}

// ReferralCodeBody is the code of an organization.
type ReferralCodeBody struct {
	Code      string    `json:"code" doc:"No secret: others claim it for their organizations." example:"K3ZQ7MPA4XWT"`
	CreatedAt time.Time `json:"createdAt"`
}

func codeBody(c referral.Code, err error) (ReferralCodeBody, error) {
	return ReferralCodeBody{c.Code, c.CreatedAt}, err
}

func (h *Handlers) code(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (ReferralCodeBody, error) {
	return codeBody(h.Referrals.Code(ctx, caller))
}

func (h *Handlers) makeCode(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (ReferralCodeBody, error) {
	return codeBody(h.Referrals.MakeCode(ctx, caller))
}

type claimReferralInput struct {
	route.OrganizationQuery
	Body struct {
		Code string `json:"code" minLength:"1" maxLength:"50" example:"K3ZQ7MPA4XWT"`
	}
}

// ReferralClaimedBody answers a claim.
type ReferralClaimedBody struct {
	Status string `json:"status" example:"claimed"`
}

func (h *Handlers) claim(
	ctx context.Context, caller principal.Principal, in *claimReferralInput,
) (ReferralClaimedBody, error) {
	return ReferralClaimedBody{"claimed"}, h.Referrals.Claim(ctx, caller, in.Body.Code)
}

// ReferralStatsBody is what referrals brought an organization.
type ReferralStatsBody struct {
	Referred    int        `json:"referred" doc:"How many organizations claimed the code." example:"2"`
	CreditCents int64      `json:"creditCents" doc:"The organization's credit." example:"2000"`
	ClaimedAt   *time.Time `json:"claimedAt" doc:"When the organization claimed a code itself; null: it has not."`
}

func (h *Handlers) stats(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (ReferralStatsBody, error) {
	s, err := h.Referrals.Stats(ctx, caller)
	return ReferralStatsBody{s.Referred, s.CreditCents, s.ClaimedAt}, err
}
