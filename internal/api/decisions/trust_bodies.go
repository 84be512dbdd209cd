package decisions

import (
	"time"

	"writ/internal/api/route"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy/clientpolicy"
)

// DelegatedBody is a delegation. delegation and trust_delta are absent where a published SDK shows the plan's own token
// with the sub-tree.
type DelegatedBody struct {
	TrustID      string                `json:"trustId" format:"uuid" doc:"The delegation."`
	Delta        TrustDeltaBody        `json:"delta"`
	Delegation   *DelegatedTokenBody   `json:"delegation,omitempty" doc:"A token of its own, as intent_token of calls. Each call needs a proof of possession in X-Writ-Proof."`
	DelegationID string                `json:"delegation_id" format:"uuid" doc:"The delegation again."`
	TrustDelta   *TrustDeltaBody       `json:"trust_delta,omitempty" doc:"delta again."`
	Metadata     DelegationDetailsBody `json:"metadata"`
}

// TrustDeltaBody is a change of who may do what.
type TrustDeltaBody struct {
	Type    string         `json:"type" enum:"delegate,reanchor,revoke"`
	Payload TrustDeltaPart `json:"payload"`
	Signed  string         `json:"signed,omitempty" doc:"The change as a JWS, signed with the organization's key."`
}

// TrustDeltaPart is what changed. Members of other types are absent.
type TrustDeltaPart struct {
	PlanID         string     `json:"plan_id" format:"uuid" doc:"The plan that was declared, or what was revoked."`
	InclusionProof plan.Proof `json:"inclusion_proof,omitzero" doc:"Leads from the sub-tree to the parent's hash."`
	SubtreeHash    string     `json:"subtree_node_hash,omitempty"`
	SubtreePath    string     `json:"subtree_path,omitempty"`
	ParentHash     string     `json:"parent_plan_hash,omitempty" doc:"Of the plan that was delegated."`
	From           string     `json:"from_hash,omitempty" doc:"Of the plan before it was re-anchored."`
	To             string     `json:"to_hash,omitempty"`
	Anchor         int64      `json:"anchor,omitempty" doc:"The number of the version, from 1."`
	Widened        []int      `json:"widened,omitempty" doc:"Steps that were added, and that a person must agree to."`
	Cascade        *bool      `json:"cascade,omitempty"`
	IssuedAt       int64      `json:"issued_at" doc:"Seconds."`
	ExpiresAt      int64      `json:"expires_at,omitempty" doc:"Seconds."`
}

// DelegationDetailsBody is what else is known of a delegation.
type DelegationDetailsBody struct {
	PlanID   string `json:"plan_id" format:"uuid" doc:"The plan that was declared."`
	ParentID string `json:"parent_id" format:"uuid" doc:"The plan or delegation that was delegated."`
	Delegate string `json:"delegate_public_key"`
	AgentID  string `json:"target_agent,omitempty"`
	Depth    int    `json:"depth" doc:"From 1."`
	MaxDepth int    `json:"max_depth" doc:"How many delegations may follow."`
	Budget   int64  `json:"budget,omitempty" doc:"Calls; absent: any number."`
}

// DelegatedTokenBody is the token of a delegation in the form that the older SDKs read.
type DelegatedTokenBody struct {
	TokenID           string                  `json:"token_id" format:"uuid"`
	PlanID            string                  `json:"plan_id" format:"uuid" doc:"The delegation, which is a plan of its own."`
	PlanHash          string                  `json:"plan_hash"`
	Signature         string                  `json:"signature" doc:"Of the last part of jwt_token, in hex."`
	IssuedAt          int64                   `json:"issued_at"`
	ExpiresAt         int64                   `json:"expires_at"`
	Policy            struct{}                `json:"policy" doc:"Empty."`
	CompositeIdentity string                  `json:"composite_identity"`
	ClientInfo        ClientInfoBody          `json:"client_info"`
	PolicyValidation  clientpolicy.Validation `json:"policy_validation"`
	StepProofs        []plan.Proof            `json:"step_proofs" nullable:"false"`
	TotalSteps        int                     `json:"total_steps"`
	JWT               string                  `json:"jwt_token" doc:"The token: all that is needed to verify it with the published keys."`
}

func delegationDelta(d intent.Delegated) TrustDeltaBody {
	return TrustDeltaBody{
		Type: "delegate",
		Payload: TrustDeltaPart{
			PlanID:         d.RootID,
			InclusionProof: d.Subtree.Proof,
			SubtreeHash:    d.Subtree.Hash,
			SubtreePath:    d.Subtree.Path,
			ParentHash:     d.ParentHash,
			IssuedAt:       d.IssuedAt.Unix(),
			ExpiresAt:      d.ExpiresAt.Unix(),
		},
		Signed: d.Link,
	}
}

// ReanchoredBody is a plan that another one took the place of.
type ReanchoredBody struct {
	TrustID string         `json:"trustId" format:"uuid"`
	Delta   TrustDeltaBody `json:"delta"`
	PlanID  string         `json:"planId" format:"uuid"`
	Held    bool           `json:"held" doc:"Whether a person must agree to calls of what was added."`
}

func reanchoredBody(r intent.Reanchored) ReanchoredBody {
	return ReanchoredBody{
		TrustID: r.ID,
		PlanID:  r.PlanID,
		Held:    len(r.Widened) > 0,
		Delta: TrustDeltaBody{
			Type: "reanchor",
			Payload: TrustDeltaPart{
				PlanID:   r.PlanID,
				From:     r.From,
				To:       r.To,
				Anchor:   r.Number,
				Widened:  r.Widened,
				IssuedAt: r.Issued,
			},
			Signed: r.Signed,
		},
	}
}

// TrustRevokedBody is what was revoked.
type TrustRevokedBody struct {
	TrustID  string         `json:"trustId" format:"uuid" doc:"The plan or delegation."`
	Delta    TrustDeltaBody `json:"delta"`
	Cascaded []string       `json:"cascadedRevocations" nullable:"false" doc:"Delegations that were revoked with it."`
}

func revokedBody(r intent.Revoked, cascade bool) TrustRevokedBody {
	return TrustRevokedBody{
		TrustID: r.ID,
		Delta: TrustDeltaBody{
			Type:    "revoke",
			Payload: TrustDeltaPart{PlanID: r.ID, Cascade: &cascade, IssuedAt: r.At.Unix()},
			Signed:  r.Signed,
		},
		Cascaded: r.Cascaded,
	}
}

// TrustTreeBody is a plan with its versions and all that was delegated from it.
type TrustTreeBody struct {
	PlanID    string            `json:"planId" format:"uuid" doc:"The plan or delegation that was asked for."`
	RootID    string            `json:"rootId" format:"uuid" doc:"The plan that was declared."`
	Root      *TrustNodeBody    `json:"root"`
	Anchors   []TrustAnchorBody `json:"anchors" nullable:"false" doc:"The versions of the declared plan, the first first. The one in force at an entry of the log is the last whose auditIndex is smaller."`
	Truncated bool              `json:"truncated" doc:"Whether there are more delegations than are shown."`
}

// TrustNodeBody is a plan or delegation, to be drawn.
type TrustNodeBody struct {
	ID        string           `json:"id" format:"uuid"`
	ParentID  *string          `json:"parentId" doc:"Null: it is the plan that was declared."`
	Kind      string           `json:"kind" enum:"plan,delegation,envelope" doc:"envelope: a published SDK shows the plan's token with the sub-tree."`
	Depth     int              `json:"depth" doc:"0: the plan that was declared."`
	MaxDepth  int              `json:"maxDepth" doc:"How many delegations may follow."`
	Status    plan.Status      `json:"status" enum:"active,completed,failed,expired"`
	Counts    bool             `json:"counts" doc:"Whether it authorizes anything: it and all that it came from are active, and have calls left of their budgets. That a key was revoked or an agent suspended is not looked at here; decisions do."`
	RevokedAt *time.Time       `json:"revokedAt" doc:"Null: it was not revoked."`
	Goal      string           `json:"goal" doc:"Redacted; empty for callers who may not read payloads."`
	PlanHash  string           `json:"planHash"`
	KeyID     string           `json:"keyId" format:"uuid" doc:"The API key that declared or delegated it."`
	AgentID   string           `json:"agentId" doc:"The agent that may use it; empty: none is named."`
	Delegate  string           `json:"delegate" doc:"The delegate's public key; empty: it is the plan that was declared."`
	Subtree   string           `json:"subtreePath" doc:"Of an envelope."`
	Steps     []PlanStepBody   `json:"steps" nullable:"false" doc:"Redacted; empty for callers who may not read payloads."`
	CoveredBy []int            `json:"coveredBy" nullable:"false" doc:"For each step, the parent's step that covers it."`
	Budget    int64            `json:"budget" doc:"Calls; 0: any number."`
	Calls     int64            `json:"calls" doc:"How many of the budget were made."`
	IssuedAt  time.Time        `json:"issuedAt"`
	ExpiresAt time.Time        `json:"expiresAt"`
	Children  []*TrustNodeBody `json:"children" nullable:"false"`
}

// TrustAnchorBody is a version of a plan.
type TrustAnchorBody struct {
	Number    int64     `json:"number" doc:"From 1."`
	PlanHash  string    `json:"planHash"`
	Index     *int64    `json:"auditIndex" doc:"Its entry in the organization's log; null: there is none."`
	Signed    string    `json:"signed" doc:"How it followed the version before, as a JWS; empty for the first."`
	CreatedAt time.Time `json:"createdAt"`
}

func trustTreeBody(id string, t intent.Tree) TrustTreeBody {
	body := TrustTreeBody{PlanID: id, RootID: t.RootID, Truncated: t.Truncated, Anchors: []TrustAnchorBody{}}
	nodes := map[string]*TrustNodeBody{}
	for _, v := range t.Links {
		node := trustNodeBody(v)
		nodes[v.ID] = node
		if parent := nodes[v.ParentID]; parent != nil {
			parent.Children = append(parent.Children, node)
		} else {
			body.Root = node
		}
	}
	for _, a := range t.Anchors {
		anchor := TrustAnchorBody{
			Number:    a.Number,
			PlanHash:  a.Hash,
			Signed:    a.Signed,
			CreatedAt: a.CreatedAt,
		}
		if index := a.Entry; index >= 0 {
			anchor.Index = &index
		}
		body.Anchors = append(body.Anchors, anchor)
	}
	return body
}

func trustNodeBody(v intent.LinkView) *TrustNodeBody {
	node := &TrustNodeBody{
		ID:        v.ID,
		ParentID:  route.OrNull(v.ParentID),
		Kind:      "plan",
		Depth:     v.Depth,
		MaxDepth:  v.Further,
		Status:    v.Status,
		Counts:    v.Counts(),
		RevokedAt: v.RevokedAt,
		Goal:      v.Goal,
		PlanHash:  v.Hash,
		KeyID:     v.Binding.KeyID,
		AgentID:   v.Binding.AgentID,
		Delegate:  v.Delegate,
		Subtree:   v.Subtree,
		Steps:     []PlanStepBody{},
		CoveredBy: v.CoveredBy,
		Budget:    v.Budget,
		Calls:     v.Calls,
		IssuedAt:  v.IssuedAt,
		ExpiresAt: v.ExpiresAt,
		Children:  []*TrustNodeBody{},
	}
	switch {
	case v.Envelope:
		node.Kind, node.AgentID = "envelope", v.AgentID
	case v.Depth > 0:
		node.Kind, node.AgentID = "delegation", v.AgentID
	}
	if v.CoveredBy == nil {
		node.CoveredBy = []int{}
	}
	if v.Plan != nil {
		node.Steps, _ = planSteps(v.Plan)
	}
	return node
}
