package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
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

	// SessionTicket is for a plan of a guarded session; then SessionID and AgentID are the ticket's. Amends
	// is why the plan adds to the earlier ones of its turn.
	SessionTicket string `json:"session_ticket,omitempty"`
	Amends        string `json:"amends,omitempty"`

	// IdempotencyKey makes the same request give the same token.
	IdempotencyKey string `json:"-"`
}

// PlanToken proves a declared plan. Send it, or its JWT alone, with every call.
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

	// Added are the tools that a plan adds to the earlier ones of its turn.
	Added []string `json:"added"`

	// Warnings say what in the plan is probably not meant so, such as a misspelled member of a step: it fixes nothing.
	Warnings []string `json:"warnings"`
}

// ProofStep is the hash beside the one that is being folded, and its side.
type ProofStep struct {
	Position string `json:"position"` // left or right
	Hash     string `json:"sibling_hash"`
}

// PolicyValidation says of which tools in a plan every call would be allowed.
type PolicyValidation struct {
	AllowedTools             []string `json:"allowed_tools"`
	DeniedTools              []string `json:"denied_tools"`
	DeniedReasons            []string `json:"denied_reasons"`
	DefaultEnforcementAction string   `json:"default_enforcement_action"`
}

// DeclarePlan declares a plan and returns its token.
func (c *Client) DeclarePlan(ctx context.Context, p PlanRequest) (token PlanToken, err error) {
	request, err := c.request(ctx, http.MethodPost, "/iap/sdk/token", nil, p)
	if err != nil {
		return token, err
	}
	if p.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", p.IdempotencyKey)
	}
	err = c.decode(request, &token)
	return token, err
}

// PlannedCall is a call that needs a decision.
type PlannedCall struct {
	Tool        string          `json:"tool"`
	MCP         string          `json:"mcp,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	IntentToken any             `json:"intent_token,omitempty"` // a PlanToken, or its JWT
	UserEmail   string          `json:"user_email,omitempty"`
	AgentID     string          `json:"agent_id,omitempty"`
	SessionID   string          `json:"session_id,omitempty"`

	// Capabilities are what the caller can do with an answer: CanConfine.
	Capabilities []string `json:"capabilities,omitempty"`
}

// CanConfine is the capability of a caller that confines an allowed call to what the decision says.
const CanConfine = "confine"

// CanOblige is the capability of a caller that does with the result of a call what the decision says.
const CanOblige = "oblige"

// HarnessCall is a call of a coding agent's tool that needs a decision.
type HarnessCall struct {
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input,omitempty"`
	Source       string          `json:"source,omitempty"` // the harness
	IntentToken  any             `json:"intent_token,omitempty"`
	UserEmail    string          `json:"user_email,omitempty"`
	AgentID      string          `json:"agent_id,omitempty"`
	SessionID    string          `json:"session_id,omitempty"`
	Capabilities []string        `json:"capabilities,omitempty"`

	// SessionTurn is the turn of a guarded session that the caller knows: in another one the call is denied.
	SessionTurn int64        `json:"session_turn,omitempty"`
	MCPContext  *HarnessTool `json:"mcp_context,omitempty"`
	// ResolvedPaths are what paths in the input really are.
	ResolvedPaths map[string]string `json:"resolvedPaths,omitempty"`
}

// HarnessTool is a tool of an MCP server, as the harness knows it.
type HarnessTool struct {
	ServerName string `json:"server_name"`
	ToolName   string `json:"tool_name"`
}

// EnforceHarness asks for the decision about a call of a coding agent's tool. After an error the call must not run.
func (c *Client) EnforceHarness(ctx context.Context, call HarnessCall) (Decision, error) {
	return post[Decision](ctx, c, "/iap/enforce", nil, call)
}

// Decision is the answer to a call, which may run only if it is Allowed.
type Decision struct {
	Allowed           bool           `json:"allowed"`
	Action            string         `json:"action"`
	EnforcementAction string         `json:"enforcementAction"`
	Decision          string         `json:"decision"`
	Reason            string         `json:"reason"`
	Message           string         `json:"message"`
	DecidedBy         string         `json:"decidedBy"`
	Rule              string         `json:"rule"`
	MatchedPolicy     *MatchedPolicy `json:"matchedPolicy"`
	Server            string         `json:"server"`
	PlanID            string         `json:"planId"`
	Step              *int           `json:"step"`
	DecisionID        string         `json:"decisionId"`
	ApprovalID        string         `json:"approvalId"`
	// Confine is what an allowed call must be confined to; nil: nothing.
	Confine *Confinement `json:"confine"`
	// Oblige is what must be done with the result of an allowed call; nil: nothing.
	Oblige  *Obligations    `json:"oblige"`
	Receipt json.RawMessage `json:"receipt"`

	// Session is of calls in a guarded session; nil: the session is none.
	Session *DecisionSession `json:"session"`
}

// DecisionSession is what a decision says of the guarded session of a call.
type DecisionSession struct {
	Turn           int64 `json:"turn"`
	MonitorAllowed bool  `json:"monitorAllowed"`
}

// Enforce asks for the decision about a call. After an error the call must not run.
func (c *Client) Enforce(ctx context.Context, call PlannedCall) (Decision, error) {
	return post[Decision](ctx, c, "/iap/sdk/enforce", nil, call)
}

// Plan is a declared plan.
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
	DelegatedTo    string          `json:"delegatedTo"` // of a delegation, the agent that alone may use it
	EndedBy        string          `json:"endedBy"`     // revocation or kill
	Plan           json.RawMessage `json:"plan"`        // null in lists
	Steps          []JudgedStep    `json:"steps,omitempty"`
	Ordered        bool            `json:"ordered,omitempty"` // steps are used in their order
	Uses           []StepUse       `json:"uses,omitempty"`    // of steps that the plan limits
}

// StepUse is how often a step was used.
type StepUse struct {
	Step int   `json:"step"` // from 0
	Uses int64 `json:"uses"`
}

// JudgedStep is a step of a plan as it is judged; there are none in lists, nor for who may not read payloads.
type JudgedStep struct {
	Step     int             `json:"step"` // from 0
	Fixed    []FixedArgument `json:"fixed"`
	Strict   bool            `json:"strict"`   // other arguments are refused
	MaxCalls int64           `json:"maxCalls"` // 0: any number
}

// FixedArgument is an argument that a step of a plan gives.
type FixedArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"` // canonical JSON
}

func planPath(id, rest string) string { return "/iap/plan/" + segment(id) + rest }

// Plan reads a plan.
func (c *Client) Plan(ctx context.Context, id string) (Plan, error) {
	return get[Plan](ctx, c, planPath(id, ""), nil)
}

// StepName is a step of a plan, as the server reads it.
type StepName struct {
	Step   int    `json:"step"` // from 0
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// PlanSteps lists the steps of a plan.
func (c *Client) PlanSteps(ctx context.Context, id string) ([]StepName, error) {
	out, err := get[struct{ Steps []StepName }](ctx, c, planPath(id, "/report"), nil)
	return out.Steps, err
}

// PathProof proves a value of a plan.
type PathProof struct {
	Path        string      `json:"path"`
	StepIndex   int         `json:"step_index"`
	ValueDigest string      `json:"value_digest"`
	Proof       []ProofStep `json:"proof"`
}

// StepProof proves that a plan has a step.
type StepProof struct {
	PathProof            // of its action
	PlanID     string    `json:"planId"`
	MerkleRoot string    `json:"merkle_root"` // the plan's hash
	Step       PathProof `json:"step"`        // of all that it says
}

// PlanStepProof reads the proof of a step (from 0) against the plan's hash.
func (c *Client) PlanStepProof(ctx context.Context, id string, step int) (StepProof, error) {
	return get[StepProof](ctx, c, planPath(id, "/steps/"+strconv.Itoa(step)+"/proof"), nil)
}

// PlanFilter chooses plans. An empty field chooses all.
type PlanFilter struct {
	List
	Status, AgentID, User string
	Since, Before         time.Time
}

// Plans lists the plans of an organization, newest first.
func (c *Client) Plans(ctx context.Context, orgID string, f PlanFilter) (Page[Plan], error) {
	return get[Page[Plan]](ctx, c, "/iap/plans", f.with("organizationId", orgID,
		"status", f.Status, "agentId", f.AgentID, "user", f.User, "since", f.Since, "before", f.Before))
}

// SetPlanStatus ends a plan, or makes one active again.
func (c *Client) SetPlanStatus(ctx context.Context, id, status string) (Plan, error) {
	return post[Plan](ctx, c, "/iap/plans/"+segment(id)+"/status", nil, map[string]string{"status": status})
}

// EnforcementSettings say how the calls of an organization are decided.
type EnforcementSettings struct {
	IntentRequired    bool   `json:"intentRequired"`
	MaxPlanTTLSeconds int64  `json:"maxPlanTtlSeconds"`
	PlannedArguments  string `json:"plannedArguments,omitempty"` // hold or allow; empty: hold

	CarryPlans   bool `json:"carryPlans,omitempty"`   // a turn may keep the plan of the turn before
	AllowMonitor bool `json:"allowMonitor,omitempty"` // hooks may log instead of deny
	// Widening is what is done about a re-anchored plan that permits more than before: hold, allow or refuse.
	Widening string `json:"widening,omitempty"`
}

func settingsPath(orgID string) string { return organizationPath(orgID) + "/enforcement" }

// EnforcementSettings reads the settings of an organization.
func (c *Client) EnforcementSettings(ctx context.Context, orgID string) (EnforcementSettings, error) {
	return get[EnforcementSettings](ctx, c, settingsPath(orgID), nil)
}

// SetEnforcementSettings changes the settings of an organization.
func (c *Client) SetEnforcementSettings(
	ctx context.Context, orgID string, to EnforcementSettings,
) (EnforcementSettings, error) {
	return put[EnforcementSettings](ctx, c, settingsPath(orgID), nil, to)
}
