package agents

import (
	"context"
	"time"

	"writ/internal/agent"
	"writ/internal/api/route"
	"writ/internal/principal"
)

// AgentSettingsBody is what an organization says about agents.
type AgentSettingsBody struct {
	UnregisteredMayAct bool       `json:"unregisteredMayAct" doc:"Whether calls that name no registered agent are judged like others. False: they are denied."`
	ApproversMayKill   bool       `json:"approversMayKill,omitempty" doc:"Whether approvers use the kill switch, beside owners and admins."`
	Trips              *TripsBody `json:"trips,omitempty" doc:"Absent in a request: as they are. Empty: none."`
	LeaseSeconds       *int64     `json:"leaseSeconds,omitempty" minimum:"0" maximum:"300" doc:"The longest lease. 0: none are given. Absent in a request: as it is."`
}

// TripsBody are the numbers at which the kill switch stops an agent by itself.
type TripsBody struct {
	CostPerDay       *float64         `json:"costPerDay,omitempty" minimum:"0" maximum:"1000000" doc:"US dollars in a day, UTC, of an agent with bound keys. 0: off."`
	CallsPerMinute   *int64           `json:"callsPerMinute,omitempty" minimum:"0" maximum:"1000000" doc:"0: off."`
	DenialsPerMinute *int64           `json:"denialsPerMinute,omitempty" minimum:"0" maximum:"1000000" doc:"0: off."`
	RejectedInARow   *int64           `json:"rejectedInARow,omitempty" minimum:"0" maximum:"1000000" doc:"Approval requests that people rejected one after another. 0: off."`
	FindingsPerDay   map[string]int64 `json:"findingsPerDay,omitempty" doc:"By the kind of finding, within 24 hours. 0: off."`
}

// trips are none for nil.
func (b *TripsBody) trips() agent.Trips {
	if b == nil {
		return agent.Trips{}
	}
	return agent.Trips(*b)
}

// tripsBody is nil where nothing is set.
func tripsBody(t agent.Trips) *TripsBody {
	if t.IsZero() {
		return nil
	}
	body := TripsBody(t)
	return &body
}

func settingsBody(s agent.Settings) AgentSettingsBody {
	seconds := int64(s.LeaseLife / time.Second)
	return AgentSettingsBody{
		UnregisteredMayAct: s.UnregisteredMayAct,
		ApproversMayKill:   s.ApproversMayKill,
		Trips:              tripsBody(s.Trips),
		LeaseSeconds:       &seconds,
	}
}

func (h *Handlers) getSettings(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (AgentSettingsBody, error) {
	settings, err := h.Agents.Settings(ctx, caller.OrgID)
	return settingsBody(settings), err
}

type agentSettingsInput struct {
	route.OrgInput
	Body AgentSettingsBody
}

func (h *Handlers) putSettings(
	ctx context.Context, caller principal.Principal, in *agentSettingsInput,
) (AgentSettingsBody, error) {
	b := &in.Body
	change := agent.SettingsChange{UnregisteredMayAct: b.UnregisteredMayAct, ApproversMayKill: b.ApproversMayKill}
	if b.Trips != nil {
		trips := b.Trips.trips()
		change.Trips = &trips
	}
	if b.LeaseSeconds != nil {
		life := time.Duration(*b.LeaseSeconds) * time.Second
		change.LeaseLife = &life
	}
	settings, err := h.Agents.SetSettings(ctx, caller, change)
	return settingsBody(settings), err
}
