package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/approval"
	"writ/internal/principal"
)

func (a *API) mountApprovalSettings() {
	const path = "/delegation/settings"
	handle(a, Route{
		Method: http.MethodGet, Path: path, Tag: delegationTag,
		Summary: "How an organization answers requests for approval",
		Mode:    JWT, Action: principal.ReadPolicies,
	}, a.getApprovalSettings)
	handle(a, Route{
		Method: http.MethodPut, Path: path, Tag: delegationTag,
		Summary: "Change how an organization answers requests for approval",
		Mode:    JWT, Action: principal.ManagePolicies, Audit: "approval.settings_changed",
	}, a.putApprovalSettings)
}

// ApprovalSettingsBody says how requests are answered.
type ApprovalSettingsBody struct {
	SelfApproval   bool  `json:"selfApproval" doc:"Whether who asks may approve as well. False, as it is at first: somebody else must, unless there is nobody else who could."`
	PendingSeconds int64 `json:"pendingSeconds" minimum:"60" maximum:"86400" doc:"How long a request waits for an answer."`
	GrantSeconds   int64 `json:"grantSeconds" minimum:"60" maximum:"86400" doc:"How long a yes to one call lasts."`
}

type approvalSettingsInput struct{ OrganizationQuery }

type approvalSettingsOutput struct{ Body ApprovalSettingsBody }

func shownApprovalSettings(s approval.Settings, err error) (*approvalSettingsOutput, error) {
	if err != nil {
		return nil, err
	}
	return &approvalSettingsOutput{ApprovalSettingsBody{
		SelfApproval: s.SelfApproval, PendingSeconds: int64(s.PendingLife / time.Second),
		GrantSeconds: int64(s.GrantLife / time.Second),
	}}, nil
}

func (a *API) getApprovalSettings(
	ctx context.Context, caller principal.Principal, _ *approvalSettingsInput,
) (*approvalSettingsOutput, error) {
	return shownApprovalSettings(a.Approvals.Settings(ctx, caller.OrgID))
}

type putApprovalSettingsInput struct {
	OrganizationQuery
	Body ApprovalSettingsBody
}

func (a *API) putApprovalSettings(
	ctx context.Context, caller principal.Principal, in *putApprovalSettingsInput,
) (*approvalSettingsOutput, error) {
	return shownApprovalSettings(a.Approvals.SetSettings(ctx, caller, approval.Settings{
		SelfApproval: in.Body.SelfApproval, PendingLife: time.Duration(in.Body.PendingSeconds) * time.Second,
		GrantLife: time.Duration(in.Body.GrantSeconds) * time.Second,
	}))
}
