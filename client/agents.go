package client

import (
	"context"
	"net/http"
	"time"
)

// Agent is an agent that is registered, is proposed by a key (pending) or was seen.
type Agent struct {
	AgentID        string     `json:"agentId"`
	Status         string     `json:"status"`
	SuspendedFor   string     `json:"suspendedFor"`
	Name           string     `json:"name"`
	OwnerID        *string    `json:"ownerId"` // nil: nobody has registered or proposed it
	Product        string     `json:"product"`
	Environment    string     `json:"environment"`
	Description    string     `json:"description"`
	Keys           []string   `json:"keys"`
	PublicKey      *string    `json:"publicKey"`
	IntentRequired bool       `json:"intentRequired"`
	ProofsOptional bool       `json:"proofsOptional"`
	CreatedAt      time.Time  `json:"createdAt"`
	UpdatedAt      *time.Time `json:"updatedAt"`
	LastSeenAt     *time.Time `json:"lastSeenAt"`
	Host           string     `json:"host"`
	SeenKeys       []string   `json:"seenKeys"`
	Sharing        []string   `json:"sharing"`
	Trips          *Trips     `json:"trips"`

	Stopped     *AgentStop `json:"stopped"`     // what keeps it from acting; nil: nothing
	StoppedKeys []string   `json:"stoppedKeys"` // those of its keys that are stopped, 100 at most

	CurrentPlan *AgentPlan  `json:"currentPlan"`
	Today       *AgentToday `json:"today"`     // nil: not known
	Sparkline   []int64     `json:"sparkline"` // decisions of the last 24 hours, the present one last
}

// AgentStop is what keeps an agent from acting: its own stop, else that of the organization, else that of its keys.
type AgentStop struct {
	Scope     string    `json:"scope"`   // agent, organization or key
	Subject   string    `json:"subject"` // empty: the organization
	Reason    string    `json:"reason"`
	Index     int64     `json:"index"` // of its entry in the log
	StoppedAt time.Time `json:"stoppedAt"`
}

// AgentPlan is a plan of an agent.
type AgentPlan struct {
	PlanID     string    `json:"planId"`
	KeyID      string    `json:"keyId"`
	DeclaredAt time.Time `json:"declaredAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// AgentToday is what an agent has done since 00:00 UTC.
type AgentToday struct {
	Calls   int64    `json:"calls"`
	Denials int64    `json:"denials"`
	Holds   int64    `json:"holds"`
	Asks    int64    `json:"asks"`
	CostUSD *float64 `json:"costUsd"` // nil: not known
}

// NewAgent describes an agent to be registered.
type NewAgent struct {
	AgentID        string   `json:"agentId"`
	Name           string   `json:"name,omitempty"`
	OwnerID        string   `json:"ownerId,omitempty"`
	Product        string   `json:"product,omitempty"`
	Environment    string   `json:"environment,omitempty"`
	Description    string   `json:"description,omitempty"`
	Keys           []string `json:"keys,omitempty"`
	PublicKey      string   `json:"publicKey,omitempty"`
	IntentRequired bool     `json:"intentRequired,omitempty"`
	Trips          *Trips   `json:"trips,omitempty"`
}

// AgentFilter narrows a list of agents.
type AgentFilter struct {
	List
	Status, OwnerID string
}

// AgentSettings are what an organization says about agents.
type AgentSettings struct {
	UnregisteredMayAct bool `json:"unregisteredMayAct"`
	ApproversMayKill   bool `json:"approversMayKill"`
	// Trips are as they were if nil.
	Trips *Trips `json:"trips,omitempty"`
	// LeaseSeconds is the longest lease; 0: none are given. It is as it was if nil.
	LeaseSeconds *int64 `json:"leaseSeconds,omitempty"`
}

// Trips are the numbers at which the kill switch stops an agent by itself; 0: off. Nil: the
// organization's, or off.
type Trips struct {
	CostPerDay       *float64         `json:"costPerDay,omitempty"`
	CallsPerMinute   *int64           `json:"callsPerMinute,omitempty"`
	DenialsPerMinute *int64           `json:"denialsPerMinute,omitempty"`
	RejectedInARow   *int64           `json:"rejectedInARow,omitempty"`
	FindingsPerDay   map[string]int64 `json:"findingsPerDay,omitempty"`
}

func agentPath(id string) string { return "/agent/agents/" + segment(id) }

// RegisterAgent registers an agent. With a key, orgID is empty.
func (c *Client) RegisterAgent(ctx context.Context, orgID string, n NewAgent) (Agent, error) {
	return post[Agent](ctx, c, "/agent/register", inOrg(orgID), n)
}

// Agents lists the agents of an organization, newest first.
func (c *Client) Agents(ctx context.Context, orgID string, f AgentFilter) (Page[Agent], error) {
	return get[Page[Agent]](ctx, c, "/agent/agents",
		f.with("organizationId", orgID, "status", f.Status, "ownerId", f.OwnerID))
}

// Agent reads an agent.
func (c *Client) Agent(ctx context.Context, orgID, id string) (Agent, error) {
	return get[Agent](ctx, c, agentPath(id), inOrg(orgID))
}

// UpdateAgent changes the named members of an agent.
func (c *Client) UpdateAgent(ctx context.Context, orgID, id string, changes map[string]any) (Agent, error) {
	return call[Agent](ctx, c, http.MethodPatch, agentPath(id), inOrg(orgID), changes)
}

// SetAgentStatus suspends an agent or sets it active again.
func (c *Client) SetAgentStatus(ctx context.Context, orgID, id, status, reason string) (Agent, error) {
	return post[Agent](ctx, c, agentPath(id)+"/status", inOrg(orgID),
		map[string]string{"status": status, "reason": reason})
}

func agentSettingsPath(orgID string) string { return organizationPath(orgID) + "/agents/settings" }

// AgentSettings reads what an organization says about agents.
func (c *Client) AgentSettings(ctx context.Context, orgID string) (AgentSettings, error) {
	return get[AgentSettings](ctx, c, agentSettingsPath(orgID), nil)
}

// SetAgentSettings changes what an organization says about agents.
func (c *Client) SetAgentSettings(ctx context.Context, orgID string, s AgentSettings) (AgentSettings, error) {
	return put[AgentSettings](ctx, c, agentSettingsPath(orgID), nil, s)
}
