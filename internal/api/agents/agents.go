// Package agents serves the registry of agents and the kill switch.
package agents

import (
	"context"
	"encoding/base64"
	"net/http"
	"time"

	"writ/internal/agent"
	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// Handlers serve agents.
type Handlers struct {
	Agents      *agent.Service
	Enforcement *enforcement.Service // gives leases
	Telemetry   *telemetry.Service   // counts what agents did
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("agents")
	reader := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ReadOrganization) }
	manager := func(rt route.Route) route.Route {
		return rt.For(route.Person).Needs(principal.ManageAgents).Configures()
	}
	route.Handle(r,
		route.Post("/agent/register",
			"Register an agent, which only a person can; what a key registers is pending until a person confirms it").
			For(route.PersonOrKey).Needs(principal.ManageAgents).Scoped(principal.Enforce).
			Records("agent.registered").Configures().Answers(http.StatusCreated),
		h.register)
	route.Handle(r,
		reader(route.Get("/agent/agents", "Agents that are registered, pending or were seen, newest first")), h.list)
	route.Handle(r, reader(route.Get("/agent/agents/{agentId}", "One agent")), h.get)
	route.Handle(r,
		manager(route.Patch("/agent/agents/{agentId}", "Change a registered agent, or confirm a pending one")).
			Records("agent.updated"), h.update)
	route.Handle(r,
		manager(route.Post("/agent/agents/{agentId}/status",
			"Suspend an agent or set it active, which confirms a pending one")).
			Records("agent.status_changed"), h.setStatus)
	route.Handle(r, reader(route.Get("/organization/{orgId}/agents/settings",
		"What an organization says about agents")), h.getSettings)
	route.Handle(r, manager(route.Put("/organization/{orgId}/agents/settings",
		"Change what an organization says about agents")).Records("agent.settings_changed"), h.putSettings)
	h.mountKillSwitch(r)
	h.mountLeases(r)
}

// AgentBody is an agent.
type AgentBody struct {
	AgentID        string       `json:"agentId" doc:"As clients send it."`
	Status         agent.Status `json:"status" enum:"unregistered,pending,active,suspended,killed" doc:"pending: a key proposes it, and it counts as unregistered until a person changes it or sets its status. killed: it, its organization or all its keys are stopped."`
	SuspendedFor   string       `json:"suspendedFor,omitempty" doc:"Why it is suspended."`
	Name           string       `json:"name"`
	OwnerID        *string      `json:"ownerId" doc:"A member. Null: nobody has registered or proposed it."`
	Product        string       `json:"product"`
	Environment    string       `json:"environment" enum:",sandbox,production" doc:"Empty: any."`
	Description    string       `json:"description"`
	Keys           []string     `json:"keys" nullable:"false" doc:"The ids of the API keys that it may use. None: its id counts with every key, and proves nothing."`
	PublicKey      *string      `json:"publicKey" doc:"Ed25519, in base64."`
	IntentRequired bool         `json:"intentRequired" doc:"Whether its calls without a plan are denied, whatever the organization's setting is."`
	ProofsOptional bool         `json:"proofsOptional" doc:"Whether its calls by POST /invoke need not prove their step, where its manifest has require_csrg: false too. Counts only with keys that are bound to it."`
	CreatedAt      time.Time    `json:"createdAt" doc:"When it was registered, or first seen."`
	UpdatedAt      *time.Time   `json:"updatedAt"`
	LastSeenAt     *time.Time   `json:"lastSeenAt" doc:"Up to some seconds behind. Null: never."`
	Host           string       `json:"host" doc:"The client that it ran in last. Empty: not stated."`
	Trips          *TripsBody   `json:"trips,omitempty" doc:"Where they differ from the organization's."`
	Stopped        *AgentStop   `json:"stopped,omitempty" doc:"What keeps it from acting: its own stop, else that of the organization, else that of its keys. Absent: nothing; also where an agent was changed just now."`
	StoppedKeys    []string     `json:"stoppedKeys,omitempty" doc:"The ids of its API keys that are stopped, 100 at most: of those that are bound to it or, if none are, of those that its id was sent with."`
	SeenKeys       []string     `json:"seenKeys,omitempty" doc:"The ids of the API keys that its id was sent with, the latest first; not in lists."`
	Sharing        []string     `json:"sharing,omitempty" doc:"The ids of other agents that use the same keys, or keys that these made, up to 1,000: they would stop with it. Not in lists."`
	AgentActivityBody
}

// AgentStop is what keeps an agent from acting.
type AgentStop struct {
	Scope     agent.Scope `json:"scope" enum:"agent,organization,key"`
	Subject   string      `json:"subject" doc:"The agent, or the agent or API key by which its keys were stopped. Empty: the whole organization."`
	Reason    string      `json:"reason"`
	Index     int64       `json:"index" doc:"Of the entry in the organization's log."`
	StoppedAt time.Time   `json:"stoppedAt"`
}

func agentBody(a agent.Agent) AgentBody {
	body := AgentBody{
		AgentID:        a.ID,
		Status:         a.Status,
		SuspendedFor:   a.SuspendedFor,
		Name:           a.Name,
		Product:        a.Product,
		Environment:    a.Environment,
		Description:    a.Description,
		Keys:           append([]string{}, a.Keys...),
		IntentRequired: a.IntentRequired,
		ProofsOptional: a.ProofsOptional,
		CreatedAt:      a.CreatedAt,
		UpdatedAt:      a.UpdatedAt,
		LastSeenAt:     a.LastSeenAt,
		Host:           a.Host,
		SeenKeys:       a.SeenKeys,
		Sharing:        a.Sharing,
		StoppedKeys:    a.StoppedKeys,
	}
	if s := a.Stop; s != nil {
		body.Stopped = &AgentStop{
			Scope:     s.Scope,
			Subject:   s.Subject,
			Reason:    s.Reason,
			Index:     s.Index,
			StoppedAt: s.StoppedAt,
		}
	}
	body.Trips = tripsBody(a.Trips)
	if p := a.Plan; p != nil {
		body.CurrentPlan = &AgentPlanBody{
			PlanID: p.ID, KeyID: p.KeyID, DeclaredAt: p.DeclaredAt, ExpiresAt: p.ExpiresAt,
		}
	}
	if a.OwnerID != "" {
		body.OwnerID = &a.OwnerID
	}
	if len(a.PublicKey) > 0 {
		text := base64.StdEncoding.EncodeToString(a.PublicKey)
		body.PublicKey = &text
	}
	return body
}

type registerAgentInput struct {
	route.OrganizationQuery
	Body struct {
		AgentID        string   `json:"agentId" minLength:"1" maxLength:"200" example:"billing"`
		Name           string   `json:"name,omitempty" maxLength:"100"`
		OwnerID        string   `json:"ownerId,omitempty" doc:"A member. Absent: the caller, or the calling key's owner."`
		Product        string   `json:"product,omitempty" maxLength:"100"`
		Environment    string   `json:"environment,omitempty" enum:"sandbox,production"`
		Description    string   `json:"description,omitempty" maxLength:"1000"`
		Keys           []string `json:"keys,omitempty" nullable:"false" maxItems:"100" doc:"The ids of the API keys that it may use. Only a person binds keys."`
		PublicKey      string   `json:"publicKey,omitempty" maxLength:"100" doc:"Ed25519, 32 bytes in base64."`
		IntentRequired bool     `json:"intentRequired,omitempty"`

		Trips *TripsBody `json:"trips,omitempty" doc:"Only a person sets them."`
	}
}

func (h *Handlers) register(
	ctx context.Context, caller principal.Principal, in *registerAgentInput,
) (AgentBody, error) {
	if caller.OrgID == "" {
		return AgentBody{}, route.NoOrganization()
	}
	b := &in.Body
	key, err := readKey(b.PublicKey)
	if err != nil {
		return AgentBody{}, err
	}
	a, err := h.Agents.Register(ctx, caller, b.AgentID, b.OwnerID, agent.Profile{
		Name:           b.Name,
		Product:        b.Product,
		Environment:    b.Environment,
		Description:    b.Description,
		Keys:           b.Keys,
		PublicKey:      key,
		IntentRequired: b.IntentRequired,
		Trips:          b.Trips.trips(),
	})
	return agentBody(a), err
}

// readKey reads a public key; empty: none.
func readKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fault.Field("publicKey", "must be 32 bytes in base64")
	}
	return key, nil
}

type listAgentsInput struct {
	route.OrganizationQuery
	route.PageInput
	Status  string `query:"status" enum:"unregistered,pending,active,suspended,killed" doc:"Only agents of this status."`
	OwnerID string `query:"ownerId" doc:"Only agents of this member."`
}

func (h *Handlers) list(
	ctx context.Context, caller principal.Principal, in *listAgentsInput,
) (page.Page[AgentBody], error) {
	found, err := h.Agents.List(ctx, caller, agent.Filter{Status: agent.Status(in.Status), OwnerID: in.OwnerID},
		in.Cursor, in.Limit)
	if err != nil {
		return page.Page[AgentBody]{}, err
	}
	shown := route.MapPage(found, agentBody)
	h.addActivity(ctx, caller.OrgID, shown.Items)
	return shown, nil
}

// AgentInput is the path of a route about one agent.
type AgentInput struct {
	route.OrganizationQuery
	AgentID string `path:"agentId" doc:"The agent's id, escaped."`
}

func (h *Handlers) get(ctx context.Context, caller principal.Principal, in *AgentInput) (AgentBody, error) {
	a, err := h.Agents.Get(ctx, caller, in.AgentID)
	if err != nil {
		return AgentBody{}, err
	}
	shown := []AgentBody{agentBody(a)}
	h.addActivity(ctx, caller.OrgID, shown)
	return shown[0], nil
}

type updateAgentInput struct {
	AgentInput
	Body struct {
		Name           *string   `json:"name,omitempty" maxLength:"100"`
		OwnerID        *string   `json:"ownerId,omitempty"`
		Product        *string   `json:"product,omitempty" maxLength:"100"`
		Environment    *string   `json:"environment,omitempty" enum:",sandbox,production"`
		Description    *string   `json:"description,omitempty" maxLength:"1000"`
		Keys           *[]string `json:"keys,omitempty" maxItems:"100" doc:"Replaces all of them."`
		AddKeys        []string  `json:"addKeys,omitempty" nullable:"false" maxItems:"100" doc:"The ids of API keys that it may use too. Refused for an agent that a key proposes."`
		PublicKey      *string   `json:"publicKey,omitempty" maxLength:"100" doc:"Empty: none."`
		IntentRequired *bool     `json:"intentRequired,omitempty"`
		ProofsOptional *bool     `json:"proofsOptional,omitempty"`

		Trips *TripsBody `json:"trips,omitempty" doc:"Replaces all of them. Empty: those of the organization."`
	}
}

func (h *Handlers) update(ctx context.Context, caller principal.Principal, in *updateAgentInput) (AgentBody, error) {
	b := &in.Body
	changes := agent.Changes{
		Name:           b.Name,
		OwnerID:        b.OwnerID,
		Product:        b.Product,
		Environment:    b.Environment,
		Description:    b.Description,
		Keys:           b.Keys,
		AddKeys:        b.AddKeys,
		IntentRequired: b.IntentRequired,
		ProofsOptional: b.ProofsOptional,
	}
	if b.Trips != nil {
		trips := b.Trips.trips()
		changes.Trips = &trips
	}
	if b.PublicKey != nil {
		key, err := readKey(*b.PublicKey)
		if err != nil {
			return AgentBody{}, err
		}
		changes.PublicKey = &key
	}
	a, err := h.Agents.Update(ctx, caller, in.AgentID, changes)
	return agentBody(a), err
}

type agentStatusInput struct {
	AgentInput
	Body struct {
		Status agent.Status `json:"status" enum:"active,suspended"`
		Reason string       `json:"reason" minLength:"1" maxLength:"500"`
	}
}

func (h *Handlers) setStatus(ctx context.Context, caller principal.Principal, in *agentStatusInput) (AgentBody, error) {
	a, err := h.Agents.SetStatus(ctx, caller, in.AgentID, in.Body.Status, in.Body.Reason)
	return agentBody(a), err
}
