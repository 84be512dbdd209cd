package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// PlanRequest declares a plan.
type PlanRequest struct {
	Plan      json.RawMessage `json:"plan"`
	UserID    string          `json:"user_id,omitempty"`
	UserEmail string          `json:"user_email,omitempty"`
	AgentID   string          `json:"agent_id,omitempty"`
	ContextID string          `json:"context_id,omitempty"`
	SessionID string          `json:"session_id,omitempty"`
	Policy    json.RawMessage `json:"policy,omitempty"`
	ExpiresIn float64         `json:"expires_in,omitempty"` // seconds

	// IdempotencyKey makes the same request give the same token.
	IdempotencyKey string `json:"-"`
}

// PlanToken is what a plan's declaration gives. Send it with calls, whole or its
// JWT alone.
type PlanToken struct {
	Success           bool              `json:"success"`
	PlanID            string            `json:"plan_id"`
	IntentReference   string            `json:"intent_reference"`
	PlanHash          string            `json:"plan_hash"`
	MerkleRoot        string            `json:"merkle_root"`
	CompositeIdentity string            `json:"composite_identity"`
	StepProofs        [][]ProofStep     `json:"step_proofs"`
	Token             json.RawMessage   `json:"token"`
	JWT               string            `json:"jwt_token"`
	PolicyValidation  PolicyValidation  `json:"policy_validation"`
	PolicySnapshot    []json.RawMessage `json:"policy_snapshot"`
}

// ProofStep is the hash beside the one that is being folded, and its side.
type ProofStep struct {
	Position string `json:"position"` // left or right
	Hash     string `json:"sibling_hash"`
}

// PolicyValidation says which tools of a plan every call of would be allowed.
type PolicyValidation struct {
	AllowedTools             []string `json:"allowed_tools"`
	DeniedTools              []string `json:"denied_tools"`
	DeniedReasons            []string `json:"denied_reasons"`
	DefaultEnforcementAction string   `json:"default_enforcement_action"`
}

// DeclarePlan declares a plan and gives its token.
func (c *Client) DeclarePlan(ctx context.Context, p PlanRequest) (token PlanToken, err error) {
	request, err := c.request(ctx, http.MethodPost, "/iap/sdk/token", nil, p)
	if err != nil {
		return token, err
	}
	if p.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", p.IdempotencyKey)
	}
	content, err := c.exchange(request)
	if err != nil {
		return token, err
	}
	if err := json.Unmarshal(content, &token); err != nil {
		return token, fmt.Errorf("decode the answer of POST /iap/sdk/token: %w", err)
	}
	return token, nil
}

// PlannedCall is a call to be decided.
type PlannedCall struct {
	Tool        string          `json:"tool"`
	MCP         string          `json:"mcp,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	IntentToken any             `json:"intent_token,omitempty"` // a PlanToken, or its JWT
	UserEmail   string          `json:"user_email,omitempty"`
	AgentID     string          `json:"agent_id,omitempty"`
	SessionID   string          `json:"session_id,omitempty"`
}

// Decision is the answer to a call. Only Allowed lets it run.
type Decision struct {
	Allowed           bool            `json:"allowed"`
	Action            string          `json:"action"`
	EnforcementAction string          `json:"enforcementAction"`
	Decision          string          `json:"decision"`
	Reason            string          `json:"reason"`
	Message           string          `json:"message"`
	DecidedBy         string          `json:"decidedBy"`
	Rule              string          `json:"rule"`
	MatchedPolicy     *MatchedPolicy  `json:"matchedPolicy"`
	Server            string          `json:"server"`
	PlanID            string          `json:"planId"`
	Step              *int            `json:"step"`
	DecisionID        string          `json:"decisionId"`
	ApprovalID        string          `json:"approvalId"`
	Receipt           json.RawMessage `json:"receipt"`
}

// Enforce asks whether a call may run. An error is no yes.
func (c *Client) Enforce(ctx context.Context, call PlannedCall) (d Decision, err error) {
	return d, c.Call(ctx, http.MethodPost, "/iap/sdk/enforce", nil, call, &d)
}

// Plan is a plan as it is shown.
type Plan struct {
	ID             string          `json:"id"`
	OrganizationID string          `json:"organizationId"`
	Status         string          `json:"status"`
	Goal           string          `json:"goal"`
	Source         string          `json:"source"`
	StepCount      int             `json:"stepCount"`
	PlanHash       string          `json:"planHash"`
	KeyID          string          `json:"keyId"`
	UserID         string          `json:"userId"`
	UserEmail      string          `json:"userEmail"`
	AgentID        string          `json:"agentId"`
	ContextID      string          `json:"contextId"`
	SessionID      string          `json:"sessionId"`
	ParentID       *string         `json:"parentId"`
	IssuedAt       time.Time       `json:"issuedAt"`
	ExpiresAt      time.Time       `json:"expiresAt"`
	CreatedAt      time.Time       `json:"createdAt"`
	EndedAt        *time.Time      `json:"endedAt"`
	Plan           json.RawMessage `json:"plan"` // null in lists
}

func planPath(id, rest string) string { return "/iap/plan/" + segment(id) + rest }

// Plan shows a plan.
func (c *Client) Plan(ctx context.Context, id string) (p Plan, err error) {
	return p, c.Call(ctx, http.MethodGet, planPath(id, ""), nil, nil, &p)
}

// StepName is a step of a plan, as the server reads it.
type StepName struct {
	Step   int    `json:"step"` // from 0
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// PlanSteps lists the steps of a plan.
func (c *Client) PlanSteps(ctx context.Context, id string) ([]StepName, error) {
	out, err := call[struct{ Steps []StepName }](ctx, c, http.MethodGet, planPath(id, "/report"), nil, nil)
	return out.Steps, err
}

// PlanFilter says which plans a list shows. What is empty does not narrow it.
type PlanFilter struct {
	List
	Status, AgentID, User string
	Since, Before         time.Time
}

// Plans lists the plans of an organization, newest first.
func (c *Client) Plans(ctx context.Context, orgID string, f PlanFilter) (p Page[Plan], err error) {
	q := f.values()
	for name, value := range map[string]string{
		"organizationId": orgID, "status": f.Status, "agentId": f.AgentID, "user": f.User,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": f.Since, "before": f.Before} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return p, c.Call(ctx, http.MethodGet, "/iap/plans", q, nil, &p)
}

// SetPlanStatus ends a plan, or makes one active again.
func (c *Client) SetPlanStatus(ctx context.Context, id, status string) (p Plan, err error) {
	return p, c.Call(ctx, http.MethodPost, "/iap/plans/"+segment(id)+"/status", nil,
		map[string]string{"status": status}, &p)
}

// EnforcementSettings say how calls of an organization are judged.
type EnforcementSettings struct {
	IntentRequired    bool  `json:"intentRequired"`
	MaxPlanTTLSeconds int64 `json:"maxPlanTtlSeconds"`
}

func settingsPath(orgID string) string { return "/organization/" + segment(orgID) + "/enforcement" }

// EnforcementSettings are those of an organization.
func (c *Client) EnforcementSettings(ctx context.Context, orgID string) (s EnforcementSettings, err error) {
	return s, c.Call(ctx, http.MethodGet, settingsPath(orgID), nil, nil, &s)
}

// SetEnforcementSettings changes them.
func (c *Client) SetEnforcementSettings(
	ctx context.Context, orgID string, to EnforcementSettings,
) (s EnforcementSettings, err error) {
	return s, c.Call(ctx, http.MethodPut, settingsPath(orgID), nil, to, &s)
}
