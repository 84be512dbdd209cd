package agents

import (
	"context"
	"time"

	"writ/internal/telemetry"
)

// AgentActivityBody is what an agent does, by the id that clients send, whatever their key.
type AgentActivityBody struct {
	CurrentPlan *AgentPlanBody  `json:"currentPlan" doc:"The latest plan that was declared under its id and has not ended. Null: none; also where an agent was changed just now."`
	Today       *AgentTodayBody `json:"today" doc:"Since 00:00 UTC. Null: not known now; also where an agent was changed just now."`
	Sparkline   []int64         `json:"sparkline" nullable:"true" doc:"Decisions of each of the last 24 hours, the present one last. Null as today is."`
}

// AgentPlanBody is a plan of an agent.
type AgentPlanBody struct {
	PlanID     string    `json:"planId" format:"uuid"`
	KeyID      string    `json:"keyId" format:"uuid" doc:"The API key that declared it."`
	DeclaredAt time.Time `json:"declaredAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// AgentTodayBody is what an agent has done today.
type AgentTodayBody struct {
	Calls   int64    `json:"calls" doc:"Decisions of all four verdicts."`
	Denials int64    `json:"denials"`
	Holds   int64    `json:"holds"`
	Asks    int64    `json:"asks"`
	CostUSD *float64 `json:"costUsd" doc:"What its generations cost, in US dollars. Null: nobody reported any today."`
}

// addActivity tells what agents did. Without telemetry nothing is known: that must not keep anyone from reading the
// registry, or from stopping an agent.
func (h *Handlers) addActivity(ctx context.Context, orgID string, agents []AgentBody) {
	ids := make([]string, len(agents))
	for i := range agents {
		ids[i] = agents[i].AgentID
	}
	found, err := h.Telemetry.AgentDays(ctx, orgID, ids)
	if err != nil {
		return
	}
	for i := range agents {
		day := found[agents[i].AgentID]
		agents[i].Today, agents[i].Sparkline = todayBody(day), day.Hours[:]
	}
}

func todayBody(d telemetry.AgentDay) *AgentTodayBody {
	body := &AgentTodayBody{
		Calls: d.Today.Total(), Denials: d.Today.Denied, Holds: d.Today.Held, Asks: d.Today.Asked,
	}
	if d.Usage != nil {
		body.CostUSD = new(d.Usage.Dollars())
	}
	return body
}
