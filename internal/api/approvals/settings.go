package approvals

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/approval"
	"writ/internal/principal"
)

func (h *Handlers) mountSettings(r *route.Router) {
	route.Handle(r, route.Get("/delegation/settings", "How an organization answers requests for approval").
		For(route.Person).Needs(principal.ReadPolicies), h.getSettings)
	route.Handle(r, route.Put("/delegation/settings", "Change how an organization answers requests for approval").
		For(route.Person).Needs(principal.ManagePolicies).Records("approval.settings_changed").Configures().
		AsksAgain(),
		h.putSettings)
}

// ApprovalSettingsBody says how requests are answered.
type ApprovalSettingsBody struct {
	SelfApproval   bool  `json:"selfApproval" doc:"Whether requesters may approve their own requests. False by default: somebody else must, unless nobody else has the right."`
	PendingSeconds int64 `json:"pendingSeconds" minimum:"60" maximum:"86400" doc:"How long a request waits for an answer."`
	GrantSeconds   int64 `json:"grantSeconds" minimum:"60" maximum:"86400" doc:"How long a grant for one call lasts."`
}

type approvalSettingsInput struct{ route.OrganizationQuery }

func shownApprovalSettings(s approval.Settings, err error) (ApprovalSettingsBody, error) {
	if err != nil {
		return ApprovalSettingsBody{}, err
	}
	return ApprovalSettingsBody{
		SelfApproval: s.SelfApproval, PendingSeconds: int64(s.PendingLife / time.Second),
		GrantSeconds: int64(s.GrantLife / time.Second),
	}, nil
}

func (h *Handlers) getSettings(
	ctx context.Context, caller principal.Principal, _ *approvalSettingsInput,
) (ApprovalSettingsBody, error) {
	return shownApprovalSettings(h.Approvals.Settings(ctx, caller.OrgID))
}

type putApprovalSettingsInput struct {
	route.OrganizationQuery
	Body ApprovalSettingsBody
}

func (h *Handlers) putSettings(
	ctx context.Context, caller principal.Principal, in *putApprovalSettingsInput,
) (ApprovalSettingsBody, error) {
	return shownApprovalSettings(h.Approvals.SetSettings(ctx, caller, approval.Settings{
		SelfApproval: in.Body.SelfApproval, PendingLife: time.Duration(in.Body.PendingSeconds) * time.Second,
		GrantLife: time.Duration(in.Body.GrantSeconds) * time.Second,
	}))
}
