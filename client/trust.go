package client

import (
	"context"
	"net/url"
	"time"
)

// TrustTree is a plan with its versions and all that was delegated from it.
type TrustTree struct {
	PlanID    string        `json:"planId"`
	RootID    string        `json:"rootId"` // the plan that was declared
	Root      *TrustNode    `json:"root"`
	Anchors   []TrustAnchor `json:"anchors"` // the versions of the declared plan
	Truncated bool          `json:"truncated"`
}

// TrustNode is a plan or delegation.
type TrustNode struct {
	ID        string       `json:"id"`
	ParentID  *string      `json:"parentId"`
	Kind      string       `json:"kind"`  // plan, delegation, envelope
	Depth     int          `json:"depth"` // 0: the plan that was declared
	MaxDepth  int          `json:"maxDepth"`
	Status    string       `json:"status"`
	Counts    bool         `json:"counts"` // whether it authorizes anything now
	RevokedAt *time.Time   `json:"revokedAt"`
	Goal      string       `json:"goal"`
	PlanHash  string       `json:"planHash"`
	KeyID     string       `json:"keyId"`
	AgentID   string       `json:"agentId"`
	Delegate  string       `json:"delegate"` // public key
	Subtree   string       `json:"subtreePath"`
	Steps     []TrustStep  `json:"steps"`
	CoveredBy []int        `json:"coveredBy"`
	Budget    int64        `json:"budget"` // calls; 0: any number
	Calls     int64        `json:"calls"`
	IssuedAt  time.Time    `json:"issuedAt"`
	ExpiresAt time.Time    `json:"expiresAt"`
	Children  []*TrustNode `json:"children"`
}

// TrustStep is a step of a plan or delegation.
type TrustStep struct {
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	MaxCalls int64  `json:"maxCalls"`
}

// TrustAnchor is a version of a plan.
type TrustAnchor struct {
	Number    int64     `json:"number"`
	PlanHash  string    `json:"planHash"`
	Index     *int64    `json:"auditIndex"`
	Signed    string    `json:"signed"`
	CreatedAt time.Time `json:"createdAt"`
}

// TrustTree reads a plan and all that was delegated from it.
func (c *Client) TrustTree(ctx context.Context, planID string) (TrustTree, error) {
	return get[TrustTree](ctx, c, "/iap/trust/chain/"+url.PathEscape(planID), nil)
}

// TrustRevoked is a plan or delegation that was revoked, with those that came from it.
type TrustRevoked struct {
	ID       string     `json:"trustId"`
	Cascaded []string   `json:"cascadedRevocations"` // the first thousand
	Delta    TrustDelta `json:"delta"`
}

// TrustDelta is the server's statement about a change of a plan or delegation.
type TrustDelta struct {
	Type   string `json:"type"`
	Signed string `json:"signed"`
}

// RevokeTrust ends a plan or delegation for ever, and all that was delegated from it.
func (c *Client) RevokeTrust(ctx context.Context, orgID, id, reason string) (TrustRevoked, error) {
	body := map[string]any{"trustId": id, "reason": reason}
	return post[TrustRevoked](ctx, c, "/iap/trust/revoke", inOrg(orgID), body)
}

// PlanKey is a public key that verifies plans, leases, bindings or delegations.
type PlanKey struct {
	ID        string `json:"id"`
	Purpose   string `json:"purpose"`
	Algorithm string `json:"algorithm"`
	PublicKey string `json:"publicKey"` // hex
	Current   bool   `json:"current"`
}

// PlanKeys are the public keys of a server, old ones too.
type PlanKeys struct {
	Keys []PlanKey `json:"keys"`
}

// PlanKeys reads the public keys of the server. It needs no credentials.
func (c *Client) PlanKeys(ctx context.Context) (PlanKeys, error) {
	return get[PlanKeys](ctx, c, "/iap/keys", nil)
}
