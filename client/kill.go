package client

import (
	"context"
	"time"
)

// Stop is something that the kill switch has stopped.
type Stop struct {
	Scope     string    `json:"scope"`
	Subject   string    `json:"subject"`
	Reason    string    `json:"reason"`
	Index     int64     `json:"index"`     // of its entry in the log
	StoppedBy string    `json:"stoppedBy"` // empty: a trip
	Trip      string    `json:"trip"`      // what tripped; empty: a person stopped it
	StoppedAt time.Time `json:"stoppedAt"`
	Keys      []string  `json:"keys"`     // 1,000 at most
	KeyCount  int       `json:"keyCount"` // that stop, where there are more
	Agents    []string  `json:"agents"`
	// Unseen is that no decision and no registered MCP server has a server or tool of this name: perhaps it is
	// misspelled.
	Unseen bool `json:"unseen"`
	// OpenElsewhere is in how many other organizations keys that came from these are not stopped yet.
	OpenElsewhere int `json:"openElsewhere"`
	// LeasesEndAt is when the last lease ends under which a call may still run; nil: none is left.
	LeasesEndAt *time.Time `json:"leasesEndAt"`
	// PlansEndAt is when the last plan ends by whose policy_validation a client may still run calls unasked; nil: none
	// is left.
	PlansEndAt *time.Time `json:"plansEndAt"`
}

func killPath(agentID string) string { return "/iap/agent/" + segment(agentID) }

// KillAgent stops an agent, its keys, and further keys.
func (c *Client) KillAgent(ctx context.Context, orgID, agentID, reason string, keys ...string) (Stop, error) {
	return post[Stop](ctx, c, killPath(agentID)+"/kill", inOrg(orgID),
		map[string]any{"reason": reason, "keys": append([]string{}, keys...)})
}

// ReviveAgent lets a stopped agent act again, and gives the index of the entry that says so.
func (c *Client) ReviveAgent(ctx context.Context, orgID, agentID, reason string) (int64, error) {
	revived, err := post[struct {
		Index int64 `json:"index"`
	}](ctx, c, killPath(agentID)+"/revive", inOrg(orgID), map[string]string{"reason": reason})
	return revived.Index, err
}

// AgentStatus is the status of an agent.
func (c *Client) AgentStatus(ctx context.Context, orgID, agentID string) (string, error) {
	got, err := get[struct {
		Status string `json:"status"`
	}](ctx, c, killPath(agentID)+"/status", inOrg(orgID))
	return got.Status, err
}

func killSwitchPath(orgID string) string { return organizationPath(orgID) + "/kill-switch" }

// KillScope stops an organization, server, tool, plan or agent, or lifts the stop.
func (c *Client) KillScope(ctx context.Context, orgID, scope, subject, reason string, lift bool) (Stop, error) {
	return post[Stop](ctx, c, killSwitchPath(orgID), nil,
		map[string]any{"scope": scope, "subject": subject, "reason": reason, "lift": lift})
}

// Stops lists what is stopped, the latest first.
func (c *Client) Stops(ctx context.Context, orgID string) ([]Stop, error) {
	return list[Stop](ctx, c, killSwitchPath(orgID), nil)
}
