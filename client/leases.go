package client

import (
	"context"
	"time"
)

// LeaseTool is a tool as calls name it.
type LeaseTool struct {
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool"`
}

// LeaseRequest asks for a lease.
type LeaseRequest struct {
	AgentID   string      `json:"agentId,omitempty"`
	UserID    string      `json:"userId,omitempty"`
	SessionID string      `json:"sessionId,omitempty"`
	Source    string      `json:"source,omitempty"`
	Tools     []LeaseTool `json:"tools"`
	Seconds   int64       `json:"seconds,omitempty"` // 0: as long as the organization permits
}

// Lease is a lease that was given.
type Lease struct {
	LeaseID   string      `json:"leaseId"`
	KeyID     string      `json:"keyId"`
	AgentID   string      `json:"agentId"`
	UserID    string      `json:"userId"`
	Tools     []LeaseTool `json:"tools"`
	IssuedAt  time.Time   `json:"issuedAt"`
	ExpiresAt time.Time   `json:"expiresAt"`
	Index     int64       `json:"index"` // of its entry in the log

	// Of a new lease.
	Lease   string `json:"lease"` // signed
	Refused []struct {
		LeaseTool
		Reason string `json:"reason"`
	} `json:"refused"`
}

// Lease asks for a lease. It needs a key.
func (c *Client) Lease(ctx context.Context, r LeaseRequest) (Lease, error) {
	return post[Lease](ctx, c, "/agent/lease", nil, r)
}

// Leases lists the leases that have not ended, the last to end first.
func (c *Client) Leases(ctx context.Context, orgID string) ([]Lease, error) {
	return list[Lease](ctx, c, "/agent/leases", inOrg(orgID))
}
