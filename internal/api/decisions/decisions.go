// Package decisions serves plans and decisions: what agents declare, whether a call may run, what they report to have
// done, and what people see of it. The names of members are those that published clients read; dialect.go says a
// decision in their words.
package decisions

import (
	"context"
	"maps"
	"net/url"
	"time"

	"writ/internal/agent"
	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/mcp"
	"writ/internal/organization"
	"writ/internal/policy"
	"writ/internal/principal"
)

// Handlers serve plans and decisions.
type Handlers struct {
	Enforcement   *enforcement.Service
	Intent        *intent.Service
	Policies      *policy.Service
	Organizations *organization.Service
	Executions    *execution.Service
	Agents        *agent.Service
	Servers       *mcp.Service
	Bodies        *route.Bodies
	PublicURL     *url.URL
	MaxBodyBytes  int64
}

// Mount serves plans and decisions.
func (h *Handlers) Mount(r *route.Router) {
	r.ShapeErrors(decisionErrors)
	r = r.Tagged("enforcement")
	h.mountTokens(r)
	h.mountPrompts(r)
	h.mountSessions(r)
	h.mountPlans(r)
	h.mountEnforce(r)
	h.mountVerifyStep(r)
	h.mountPublicTokens(r)
	h.mountPlanKeys(r)
	h.mountTrust(r)
	h.mountSDK(r)
	h.mountManifests(r)
	h.mountPreflight(r)
}

// MountSettings serves the settings of an organization.
func (h *Handlers) MountSettings(r *route.Router) {
	r = r.Tagged("enforcement")
	route.Handle(r, route.Get("/organization/{orgId}/enforcement",
		"How calls of an organization are judged, beside its policies").
		For(route.Person).Needs(principal.ReadPolicies), h.getSettings)
	route.Handle(r, route.Put("/organization/{orgId}/enforcement", "Change how calls of an organization are judged").
		For(route.Person).Needs(principal.ManagePolicies).Records("enforcement.settings_changed").Configures().
		AsksAgain(),
		h.putSettings)
	h.mountClasses(r)
}

// SettingsBody says how calls are judged.
type SettingsBody struct {
	IntentRequired    bool   `json:"intentRequired" doc:"Whether a call without a plan is denied on every surface."`
	MaxPlanTTLSeconds int64  `json:"maxPlanTtlSeconds" minimum:"1" maximum:"2592000" doc:"The longest life of a plan."`
	PlannedArguments  string `json:"plannedArguments,omitempty" enum:"hold,allow" doc:"What POST /iap/verify-step answers about a step that is allowed only with the arguments which its plan states: hold, unless set, asks a person; allow trusts the plan until a report says otherwise."`
	Grounding         string `json:"grounding,omitempty" enum:"off,observe,ask" doc:"What is done about a call whose values only a text gives. off: nothing; observe, unless set: it is recorded; ask: a person is asked."`
	BeforeText        string `json:"unplannedBeforeText,omitempty" enum:"hold,allow" doc:"With grounding: ask, what is done about a call that its plan does not name while only the user can have spoken: hold, unless set, or allow."`
	CarryPlans        bool   `json:"carryPlans,omitempty" doc:"Whether a turn of a guarded session may keep the plans of the turn before, where its hooks want that."`
	AllowMonitor      bool   `json:"allowMonitor,omitempty" doc:"Whether hooks of coding agents may log what they would deny, instead of denying it."`
	Widening          string `json:"widening,omitempty" enum:"hold,allow,refuse" doc:"What is done about a re-anchored plan that permits more than before: hold, unless set, has a person agree to the calls of what was added."`
}

func shownSettings(s enforcement.Settings, err error) (SettingsBody, error) {
	if err != nil {
		return SettingsBody{}, err
	}
	return SettingsBody{
		IntentRequired:    s.IntentRequired,
		MaxPlanTTLSeconds: int64(s.MaxPlanTTL / time.Second),
		PlannedArguments:  s.PlannedArguments(),
		Grounding:         string(s.Grounding),
		BeforeText:        s.Unplanned(),
		CarryPlans:        s.CarryPlans,
		AllowMonitor:      s.AllowMonitor,
		Widening:          string(s.Widening),
	}, nil
}

func (h *Handlers) getSettings(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (SettingsBody, error) {
	return shownSettings(h.Enforcement.Settings(ctx, caller.OrgID))
}

type settingsInput struct {
	route.OrgInput
	Body SettingsBody
}

func (h *Handlers) putSettings(
	ctx context.Context, caller principal.Principal, in *settingsInput,
) (SettingsBody, error) {
	return shownSettings(h.Enforcement.SetSettings(ctx, caller, enforcement.Settings{
		IntentRequired:  in.Body.IntentRequired,
		MaxPlanTTL:      time.Duration(in.Body.MaxPlanTTLSeconds) * time.Second,
		PlannedMayAllow: in.Body.PlannedArguments == wordAllow,

		Grounding:           enforcement.Grounding(in.Body.Grounding),
		UnplannedBeforeText: in.Body.BeforeText == wordAllow,
		CarryPlans:          in.Body.CarryPlans,
		AllowMonitor:        in.Body.AllowMonitor,
		Widening:            intent.Widening(in.Body.Widening),
	}))
}

func (h *Handlers) mountSDK(r *route.Router) {
	// refused, some SDKs run the tools without asking; asking, they are denied
	sdk := func(rt route.Route) route.Route {
		return rt.For(route.Key).Scoped(principal.Enforce).StoppedToo().Unrecorded()
	}
	route.Handle(r,
		sdk(route.Post("/iap/sdk/bootstrap", "What an SDK starts with: its organization, servers and agents")),
		h.bootstrap)
	route.Handle(r, sdk(route.Post("/iap/sdk/resolve-user", "Who a person is in the key's organization")),
		h.resolveUser)
}

// BootstrapBody is what an SDK starts with.
type BootstrapBody struct {
	Org struct {
		ID   string `json:"orgId" format:"uuid"`
		Name string `json:"name"`
	} `json:"org"`
	MCPs    []BootstrapServerBody `json:"mcps" nullable:"false" doc:"The approved MCP servers."`
	ToolMap map[string]string     `json:"toolMap" doc:"The server of each accepted tool. A name that several servers use is left out."`
	Agents  []BootstrapAgentBody  `json:"agents" nullable:"false"`
}

// BootstrapServerBody is an MCP server.
type BootstrapServerBody struct {
	Name string `json:"name"`
}

// BootstrapAgentBody is an agent that the key may be.
type BootstrapAgentBody struct {
	AgentID string `json:"agentId"`
	Name    string `json:"name" doc:"The agent's id: SDKs send it as the id of the only agent."`
}

// maxBootstrapAgents is how many agents are told.
const maxBootstrapAgents = 100

func (h *Handlers) bootstrap(ctx context.Context, caller principal.Principal, _ *struct {
	Body *struct{}
}) (BootstrapBody, error) {
	if caller.OrgID == "" {
		return BootstrapBody{}, route.NoOrganization()
	}
	party, err := h.Organizations.PartyOf(ctx, caller.OrgID, caller.UserID, "")
	if err != nil {
		return BootstrapBody{}, err
	}
	body := BootstrapBody{
		MCPs: []BootstrapServerBody{}, ToolMap: map[string]string{}, Agents: []BootstrapAgentBody{},
	}
	body.Org.ID, body.Org.Name = caller.OrgID, party.OrgName
	mine, err := h.Agents.Names(ctx, caller, maxBootstrapAgents)
	for _, a := range mine {
		body.Agents = append(body.Agents, BootstrapAgentBody{AgentID: a.ID, Name: a.ID})
	}
	if err != nil {
		return BootstrapBody{}, err
	}
	known, err := h.Servers.Catalogue(ctx, caller)
	for _, name := range known.Servers {
		body.MCPs = append(body.MCPs, BootstrapServerBody{Name: name})
	}
	maps.Copy(body.ToolMap, known.Tools)
	return body, err
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

// resolveUser tells a key about the members of its organization only; whoever is
// none is told as such, whether there is such an account or not.
func (h *Handlers) resolveUser(
	ctx context.Context, caller principal.Principal, in *resolveUserInput,
) (ResolvedUserBody, error) {
	if caller.OrgID == "" {
		return ResolvedUserBody{}, route.NoOrganization()
	}
	body := ResolvedUserBody{
		UserEmail: in.Body.UserEmail, OrgID: caller.OrgID,
		Approvers: []principal.Role{principal.Approver, principal.Admin, principal.Owner},
	}
	party, err := h.Organizations.PartyOf(ctx, caller.OrgID, "", in.Body.UserEmail)
	if fault.Is(err, fault.NotFound) {
		return body, nil
	}
	if err != nil {
		return ResolvedUserBody{}, err
	}
	member := party.Member
	body.UserEmail, body.IsMember, body.Membership = member.Email, true,
		&MembershipBody{UserID: member.UserID, Role: member.Role}
	return body, nil
}
