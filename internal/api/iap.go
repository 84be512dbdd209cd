package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/principal"
)

// mountIAP serves plans and decisions: what agents declare, what they may do of
// it, and what people see of both. The names of members are those of published
// clients where those read them.
func (a *API) mountIAP() {
	a.router.ShapeErrors(decisionErrors)
	a.mountTokens()
	a.mountPlans()
	a.mountEnforce()
	a.mountVerifyStep()
	a.mountPublicTokens()
	a.mountPlanKeys()
	a.mountSDK()
	a.mountManifests()
	a.mountPreflight()
	a.mountPAP()
	a.mountSettings()
}

func (a *API) mountSettings() {
	const path = "/organization/{orgId}/enforcement"
	handle(a, Route{
		Method: http.MethodGet, Path: path, Tag: iapTag,
		Summary: "How calls of an organization are judged, beside its policies",
		Mode:    JWT, Action: principal.ReadPolicies,
	}, a.getSettings)
	handle(a, Route{
		Method: http.MethodPut, Path: path, Tag: iapTag, Summary: "Change how calls of an organization are judged",
		Mode: JWT, Action: principal.ManagePolicies, Audit: "enforcement.settings_changed",
	}, a.putSettings)
}

// SettingsBody says how calls are judged.
type SettingsBody struct {
	IntentRequired    bool  `json:"intentRequired" doc:"Whether a call without a plan is denied on every surface."`
	MaxPlanTTLSeconds int64 `json:"maxPlanTtlSeconds" minimum:"1" maximum:"2592000" doc:"The longest life of a plan."`
}

type settingsOutput struct{ Body SettingsBody }

func shownSettings(s enforcement.Settings, err error) (*settingsOutput, error) {
	if err != nil {
		return nil, err
	}
	return &settingsOutput{
		SettingsBody{IntentRequired: s.IntentRequired, MaxPlanTTLSeconds: int64(s.MaxPlanTTL / time.Second)},
	}, nil
}

func (a *API) getSettings(ctx context.Context, caller principal.Principal, _ *OrgInput) (*settingsOutput, error) {
	return shownSettings(a.Enforcement.Settings(ctx, caller.OrgID))
}

type settingsInput struct {
	OrgInput
	Body SettingsBody
}

func (a *API) putSettings(ctx context.Context, caller principal.Principal, in *settingsInput) (*settingsOutput, error) {
	return shownSettings(a.Enforcement.SetSettings(ctx, caller, enforcement.Settings{
		IntentRequired: in.Body.IntentRequired, MaxPlanTTL: time.Duration(in.Body.MaxPlanTTLSeconds) * time.Second,
	}))
}

func (a *API) mountSDK() {
	sdk := func(path, summary, records string) Route {
		return Route{
			Method:  http.MethodPost,
			Path:    path,
			Tag:     iapTag,
			Summary: summary,
			Mode:    Key,
			Scope:   principal.Enforce,
			Audit:   records,
		}
	}
	handle(a, sdk("/iap/sdk/bootstrap", "What an SDK starts with: its organization, servers and agents", notRecorded),
		a.bootstrap)
	handle(a, sdk("/iap/sdk/resolve-user", "Who a person is in the key's organization", notRecorded), a.resolveUser)
}

// BootstrapBody is what an SDK starts with. Servers and agents are registered
// elsewhere; until then there are none to tell.
type BootstrapBody struct {
	Org struct {
		ID   string `json:"orgId" format:"uuid"`
		Name string `json:"name"`
	} `json:"org"`
	MCPs    []BootstrapServerBody `json:"mcps" nullable:"false"`
	ToolMap map[string]string     `json:"toolMap" doc:"The server of each tool."`
	Agents  []BootstrapAgentBody  `json:"agents" nullable:"false"`
}

// BootstrapServerBody is an MCP server.
type BootstrapServerBody struct {
	Name string `json:"name"`
}

// BootstrapAgentBody is an agent.
type BootstrapAgentBody struct {
	AgentID string `json:"agentId"`
	Name    string `json:"name"`
}

type bootstrapOutput struct{ Body BootstrapBody }

func (a *API) bootstrap(ctx context.Context, caller principal.Principal, _ *struct {
	Body *struct{}
}) (*bootstrapOutput, error) {
	if caller.OrgID == "" {
		return nil, noOrganization()
	}
	party, err := a.Organizations.PartyOf(ctx, caller.OrgID, caller.UserID, "")
	if err != nil {
		return nil, err
	}
	out := &bootstrapOutput{
		BootstrapBody{MCPs: []BootstrapServerBody{}, ToolMap: map[string]string{}, Agents: []BootstrapAgentBody{}},
	}
	out.Body.Org.ID, out.Body.Org.Name = caller.OrgID, party.OrgName
	return out, nil
}

type resolveUserInput struct {
	Body struct {
		UserEmail string `json:"userEmail" minLength:"1" maxLength:"254"`
	}
}

// ResolvedUserBody is who a person is in an organization.
type ResolvedUserBody struct {
	UserEmail  string           `json:"userEmail"`
	OrgID      string           `json:"orgId" format:"uuid"`
	IsMember   bool             `json:"isMember"`
	Membership *MembershipBody  `json:"membership" doc:"Null: not a member."`
	Approvers  []principal.Role `json:"approverChain" nullable:"false" doc:"The roles that may approve."`
}

// MembershipBody is a person's place in an organization.
type MembershipBody struct {
	UserID string         `json:"userId" format:"uuid"`
	Role   principal.Role `json:"role"`
}

type resolveUserOutput struct{ Body ResolvedUserBody }

// resolveUser tells a key about the members of its organization only; whoever is
// none is told as such, whether there is such an account or not.
func (a *API) resolveUser(
	ctx context.Context, caller principal.Principal, in *resolveUserInput,
) (*resolveUserOutput, error) {
	if caller.OrgID == "" {
		return nil, noOrganization()
	}
	body := ResolvedUserBody{
		UserEmail: in.Body.UserEmail, OrgID: caller.OrgID,
		Approvers: []principal.Role{principal.Approver, principal.Admin, principal.Owner},
	}
	party, err := a.Organizations.PartyOf(ctx, caller.OrgID, "", in.Body.UserEmail)
	if fault.Is(err, fault.NotFound) {
		return &resolveUserOutput{body}, nil
	}
	if err != nil {
		return nil, err
	}
	member := party.Member
	body.UserEmail, body.IsMember, body.Membership = member.Email, true,
		&MembershipBody{UserID: member.UserID, Role: member.Role}
	return &resolveUserOutput{body}, nil
}
