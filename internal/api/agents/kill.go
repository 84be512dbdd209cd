package agents

import (
	"context"
	"time"

	"writ/internal/agent"
	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/principal"
)

func (h *Handlers) mountKillSwitch(r *route.Router) {
	killer := func(rt route.Route) route.Route {
		return rt.For(route.Person).Needs(principal.KillAgents).Configures().AsksAgain()
	}
	route.Handle(r, killer(route.Post("/iap/agent/{agentId}/kill",
		"Stop an agent and its keys: no entry of the log behind the answered index allows a call of theirs")).
		Records("agent.killed"), h.kill)
	route.Handle(r, killer(route.Post("/iap/agent/{agentId}/revive", "Let a stopped agent and its keys act again")).
		Records("agent.revived"), h.revive)
	route.Handle(r, route.Get("/iap/agent/{agentId}/status", "The status of an agent, and nothing else").
		For(route.PersonOrKey).Needs(principal.ReadOrganization).Scoped(principal.Enforce).StoppedToo(), h.status)
	route.Handle(r, killer(route.Post("/organization/{orgId}/kill-switch",
		"Stop an organization, server, tool, plan, key or agent, or lift the stop")).
		Records("agent.killed"), h.killSwitch)
	route.Handle(r, route.Get("/organization/{orgId}/kill-switch", "What is stopped now, the latest first").
		For(route.Person).Needs(principal.ReadOrganization), h.stops)
}

// StopBody is something that the kill switch has stopped.
type StopBody struct {
	Scope     agent.Scope `json:"scope" enum:"agent,organization,server,tool,plan,key"`
	Subject   string      `json:"subject" doc:"Empty: the whole organization."`
	Reason    string      `json:"reason"`
	Index     int64       `json:"index" doc:"Of the entry in the organization's log. No entry behind it allows what is stopped."`
	StoppedBy string      `json:"stoppedBy" doc:"The id of a person. Empty: a trip, or a stop in another organization, where it is lifted, or here by an owner."`
	Trip      agent.Rule  `json:"trip,omitempty" enum:"costPerDay,callsPerMinute,denialsPerMinute,rejectedInARow,findingsPerDay" doc:"What tripped. Absent: a person stopped it."`
	StoppedAt time.Time   `json:"stoppedAt"`
	Keys      []string    `json:"keys" nullable:"false" doc:"The ids of the API keys that stop with an agent, and of those that came from them; 1,000 at most."`
	KeyCount  int         `json:"keyCount,omitempty" doc:"How many API keys of the organization stop, where that is more than keys lists; only where something is stopped now."`
	Agents    []string    `json:"agents" nullable:"false" doc:"Other agents that use these keys; only where something is stopped now."`

	Unseen bool `json:"unseen,omitempty" doc:"No decision is recorded about a server or tool of this name, and no registered MCP server has it: perhaps it is misspelled. It is stopped all the same. Only where something is stopped now."`

	OpenElsewhere int `json:"openElsewhere,omitempty" doc:"In how many other organizations keys that came from these are not stopped yet; the server goes on trying. Only where something is stopped now."`

	LeasesEndAt *time.Time `json:"leasesEndAt,omitempty" doc:"When the last lease ends under which a call may still run; only where something is stopped now. Absent: there is none."`
	PlansEndAt  *time.Time `json:"plansEndAt,omitempty" doc:"When the last plan ends by whose policy_validation a client may still run calls without asking; only where something is stopped now. Absent: there is none."`
}

// listedKeys is how many keys of a stop are listed.
const listedKeys = 1_000

func stopBody(s agent.Stop) StopBody {
	keys := s.Keys[:min(len(s.Keys), listedKeys)]
	body := StopBody{
		Scope:     s.Scope,
		Subject:   s.Subject,
		Reason:    s.Reason,
		Index:     s.Index,
		StoppedBy: s.StoppedBy,
		Trip:      s.Trip,
		StoppedAt: s.StoppedAt,
		Keys:      append([]string{}, keys...),
		Agents:    append([]string{}, s.Agents...),

		Unseen: s.Unseen,

		OpenElsewhere: s.Elsewhere,

		LeasesEndAt: s.LeasesEndAt,
		PlansEndAt:  s.PlansEndAt,
	}
	if s.KeyCount > len(keys) {
		body.KeyCount = s.KeyCount
	}
	return body
}

type killInput struct {
	AgentInput
	Body struct {
		Reason string   `json:"reason" minLength:"1" maxLength:"500"`
		Keys   []string `json:"keys,omitempty" nullable:"false" maxItems:"100" doc:"The ids of further API keys to stop."`
	}
}

func (h *Handlers) kill(ctx context.Context, caller principal.Principal, in *killInput) (StopBody, error) {
	stop, err := h.Agents.Kill(ctx, caller, agent.OfAgent, in.AgentID, in.Body.Reason, in.Body.Keys)
	return stopBody(stop), err
}

type reviveInput struct {
	AgentInput
	Body struct {
		Reason string `json:"reason" minLength:"1" maxLength:"500"`
	}
}

// RevivedBody says where the log lifts a stop.
type RevivedBody struct {
	Index int64 `json:"index" doc:"Of the entry in the organization's log. Plans and approvals from before the stop stay ended."`
}

func (h *Handlers) revive(ctx context.Context, caller principal.Principal, in *reviveInput) (RevivedBody, error) {
	index, err := h.Agents.Revive(ctx, caller, agent.OfAgent, in.AgentID, in.Body.Reason)
	return RevivedBody{index}, err
}

// AgentStatusBody is the status of an agent.
type AgentStatusBody struct {
	AgentID string       `json:"agentId"`
	Status  agent.Status `json:"status" enum:"unregistered,active,suspended,killed"`
}

func (h *Handlers) status(ctx context.Context, caller principal.Principal, in *AgentInput) (AgentStatusBody, error) {
	if caller.OrgID == "" {
		return AgentStatusBody{}, route.NoOrganization()
	}
	status, err := h.Agents.StatusOf(ctx, caller, in.AgentID)
	return AgentStatusBody{AgentID: in.AgentID, Status: status}, err
}

type killSwitchInput struct {
	route.OrgInput
	Body struct {
		Scope   agent.Scope `json:"scope" enum:"agent,organization,server,tool,plan,key"`
		Subject string      `json:"subject,omitempty" maxLength:"200" doc:"The agent, server, plan, API key, or tool (TOOL or SERVER.TOOL). Absent: the whole organization."`
		Reason  string      `json:"reason" minLength:"1" maxLength:"500"`
		Lift    bool        `json:"lift,omitempty" doc:"Lift the stop instead."`
		Index   *int64      `json:"index,omitempty" minimum:"0" doc:"With lift: index of the latest stop of the subject that you have seen; 409 if another one stands by now. Absent: whichever does."`
	}
}

func (h *Handlers) killSwitch(ctx context.Context, caller principal.Principal, in *killSwitchInput) (StopBody, error) {
	b := &in.Body
	if !b.Lift && b.Index != nil {
		return StopBody{}, fault.Field("index", "is only for lift")
	}
	if !b.Lift {
		stop, err := h.Agents.Kill(ctx, caller, b.Scope, b.Subject, b.Reason, nil)
		return stopBody(stop), err
	}
	var seen []int64
	if b.Index != nil {
		seen = []int64{*b.Index}
	}
	index, err := h.Agents.Revive(ctx, caller, b.Scope, b.Subject, b.Reason, seen...)
	return stopBody(agent.Stop{Scope: b.Scope, Subject: b.Subject, Reason: b.Reason, Index: index}), err
}

func (h *Handlers) stops(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (route.Items[StopBody], error) {
	stops, err := h.Agents.Stops(ctx, caller)
	return route.ItemsOf(stops, stopBody), err
}
