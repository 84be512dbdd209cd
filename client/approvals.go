package client

import (
	"context"
	"encoding/json"
	"time"
)

// NewApprovalRequest is a call that an agent wants a person to approve.
type NewApprovalRequest struct {
	Tool           string          `json:"tool"`
	Action         string          `json:"action"`
	Arguments      json.RawMessage `json:"arguments,omitempty"` // without them the approver sees none
	Amount         *float64        `json:"amount,omitempty"`
	RequesterEmail string          `json:"requesterEmail"`
	Domain         string          `json:"domain,omitempty"` // the MCP server
	PlanID         string          `json:"planId,omitempty"`
	Reason         string          `json:"reason,omitempty"`
}

// ApprovalState is an approval request as the key that made it sees it.
type ApprovalState struct {
	ID              string          `json:"approvalId"`
	DelegationID    string          `json:"delegationId"` // the same, by the name that it had first
	Status          string          `json:"status"`       // pending, approved, rejected, cancelled, expired
	ExpiresAt       time.Time       `json:"expiresAt"`
	Kind            string          `json:"kind"` // hold or ask
	Server          string          `json:"server"`
	Tool            string          `json:"tool"`
	Note            string          `json:"note"`
	EditedArguments json.RawMessage `json:"editedArguments"` // the approver wants these instead
	DecidedAt       *time.Time      `json:"decidedAt"`
	GrantExpiresAt  *time.Time      `json:"grantExpiresAt"` // when the grant for exactly this call ends
	Used            bool            `json:"used"`           // whether the grant was used
	Withdrawn       bool            `json:"withdrawn"`      // by the kill switch
	ExecutedAt      *time.Time      `json:"executedAt"`
}

// RequestApproval makes an approval request. The same call finds the same request.
func (c *Client) RequestApproval(ctx context.Context, q NewApprovalRequest) (ApprovalState, error) {
	return post[ApprovalState](ctx, c, "/delegation/request", nil, q)
}

// PollApproval waits for an answer to a request, for at most that many seconds.
func (c *Client) PollApproval(ctx context.Context, id string, seconds int) (ApprovalState, error) {
	return get[ApprovalState](ctx, c, "/delegation/poll", query("delegationId", id, "waitSeconds", &seconds))
}

// CancelApproval cancels a request.
func (c *Client) CancelApproval(ctx context.Context, orgID, id string) (ApprovalState, error) {
	return post[ApprovalState](ctx, c, "/delegation/cancel", inOrg(orgID), map[string]string{"delegationId": id})
}

// MarkExecuted says that the approved call has been made.
func (c *Client) MarkExecuted(ctx context.Context, id string) (ApprovalState, error) {
	return post[ApprovalState](ctx, c, "/delegation/mark-executed", nil, map[string]string{"delegationId": id})
}

// ApprovalRequest is an approval request as people see it.
type ApprovalRequest struct {
	ApprovalState
	OrganizationID string          `json:"organizationId"`
	Arguments      json.RawMessage `json:"arguments"`     // redacted; null for callers who may not read payloads
	ArgumentsFrom  string          `json:"argumentsFrom"` // plan, unknown; empty: the client stated them
	Step           *int            `json:"step"`          // of the plan, if it alone is approved
	Amount         *float64        `json:"amount"`
	AskedFor       string          `json:"askedFor"`
	KeyID          string          `json:"keyId"`
	OwnerID        string          `json:"ownerId"`
	UserID         string          `json:"userId"`
	Email          string          `json:"requesterEmail"`
	AgentID        string          `json:"agentId"`
	SessionID      string          `json:"sessionId"`
	PlanID         string          `json:"planId"`
	PolicyID       string          `json:"policyId"`
	PolicyVersion  int             `json:"policyVersion"`
	Rule           string          `json:"rule"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message"`
	Grounding      []Doubt         `json:"grounding"` // the arguments in doubt
	ApproverRole   string          `json:"approverRole"`
	Needed         int             `json:"needed"`
	SelfApproved   bool            `json:"selfApproved"`
	Risk           ApprovalRisk    `json:"risk"`
	Repeats        int64           `json:"repeats"`
	LastAskedAt    *time.Time      `json:"lastAskedAt"`
	CreatedAt      time.Time       `json:"createdAt"`
}

// Doubt says where a value of a call comes from that a person must look at.
type Doubt struct {
	Argument string `json:"argument"`
	Origin   string `json:"origin"` // text, echo, copy, link, nowhere
	Of       string `json:"of"`     // the tool that returned it
	Ordered  bool   `json:"ordered"`
}

// ApprovalRisk is how much care a request deserves, and why.
type ApprovalRisk struct {
	Level   string `json:"level"` // low, medium, high, critical
	Score   int    `json:"score"`
	Reasons []struct {
		Code  string `json:"code"`
		Words string `json:"words"`
	} `json:"reasons"`
}

// ApprovalDetail is a request with all that helps to answer it.
type ApprovalDetail struct {
	ApprovalRequest
	Scopes []struct {
		Kind  string `json:"kind"`
		Words string `json:"words"`
	} `json:"scopes"`
	PolicyName string           `json:"policyName"`
	PolicyRule *PolicyRule      `json:"policyRule"`
	PlanGoal   string           `json:"planGoal"`
	PlanErased bool             `json:"planErased"` // goal and steps are gone
	PlanSteps  []PlanStep       `json:"planSteps"`
	Votes      []ApprovalVote   `json:"votes"`
	History    *ApprovalHistory `json:"history"`
}

// PlanStep is the step of a plan that a request is about.
type PlanStep struct {
	Index       int      `json:"index"`
	Server      string   `json:"server"`
	Tool        string   `json:"tool"`
	Description string   `json:"description"`
	Fixed       []string `json:"fixed"` // arguments that the plan gives a value
}

// ApprovalVote is one person's approval.
type ApprovalVote struct {
	UserID string    `json:"userId"`
	At     time.Time `json:"at"`
}

// ApprovalHistory is earlier decisions about the tool of a request.
type ApprovalHistory struct {
	Decisions []PastDecision `json:"decisions"`
}

// PastDecision is an earlier decision; the audit log has the rest, at its index.
type PastDecision struct {
	Time     time.Time `json:"time"`
	Agent    string    `json:"agent"`
	Decision string    `json:"decision"`
	Index    int64     `json:"index"`
}

// ApprovalFilter chooses requests. An empty field chooses all.
type ApprovalFilter struct {
	List
	Status, Tool, AgentID, KeyID, Kind, Risk, Requester string
	Since, Before                                       time.Time
}

// ApprovalRequests lists the approval requests of an organization, newest first.
func (c *Client) ApprovalRequests(ctx context.Context, orgID string, f ApprovalFilter) (Page[ApprovalRequest], error) {
	return get[Page[ApprovalRequest]](ctx, c, "/delegation/requests", f.with("organizationId", orgID,
		"status", f.Status, "tool", f.Tool, "agentId", f.AgentID, "keyId", f.KeyID, "kind", f.Kind,
		"risk", f.Risk, "requester", f.Requester, "since", f.Since, "before", f.Before))
}

// ApprovalRequest reads a request.
func (c *Client) ApprovalRequest(ctx context.Context, orgID, id string) (ApprovalDetail, error) {
	return get[ApprovalDetail](ctx, c, "/delegation/requests/"+segment(id), inOrg(orgID))
}

// Approval is what a person permits: with an id alone, one run of exactly that call.
type Approval struct {
	ID        string          `json:"delegationId"`
	Note      string          `json:"note,omitempty"`
	Scope     *ApprovalScope  `json:"scope,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // run it with these instead
}

// ApprovalScope is what an approval covers.
type ApprovalScope struct {
	Kind    string                     `json:"kind"` // once, session, minutes, pattern, plan
	Minutes int                        `json:"minutes,omitempty"`
	Uses    int                        `json:"uses,omitempty"`
	Pattern map[string]json.RawMessage `json:"pattern,omitempty"`
}

// Answered is a request that a person has answered.
type Answered struct {
	ApprovalRequest
	Permits string `json:"permits"` // what the approval permits, in words
}

// Approve approves a request. It stays pending where more approvers are needed.
func (c *Client) Approve(ctx context.Context, orgID string, a Approval) (Answered, error) {
	return post[Answered](ctx, c, "/delegation/approve", inOrg(orgID), a)
}

// Reject rejects a request. The agent gets the note.
func (c *Client) Reject(ctx context.Context, orgID, id, note string) (Answered, error) {
	body := map[string]string{"delegationId": id, "note": note}
	return post[Answered](ctx, c, "/delegation/reject", inOrg(orgID), body)
}

// PreviewApproval says in words what an approval would permit, and changes nothing.
func (c *Client) PreviewApproval(ctx context.Context, orgID string, a Approval) (string, error) {
	body := map[string]any{"delegationId": a.ID, "scope": a.Scope}
	out, err := post[struct{ Permits string }](ctx, c, "/delegation/preview", inOrg(orgID), body)
	return out.Permits, err
}

// StandingApproval is an approval that permits more than one call.
type StandingApproval struct {
	ID           string    `json:"id"`
	ApprovalID   string    `json:"approvalId"`   // of the request that it answered
	DelegationID string    `json:"delegationId"` // the same, by the name that it had first
	Scope        string    `json:"scope"`
	Permits      string    `json:"permits"`
	GivenBy      string    `json:"givenBy"`
	Uses         int       `json:"uses"`
	Used         int       `json:"used"`
	KeyID        string    `json:"keyId"`
	AgentID      string    `json:"agentId"`
	SessionID    string    `json:"sessionId"`
	PlanID       string    `json:"planId"`
	Server       string    `json:"server"`
	Tool         string    `json:"tool"`
	ExpiresAt    time.Time `json:"expiresAt"`
	Lapsed       bool      `json:"lapsed"` // its approver lost the right to approve, so that it permits nothing
}

// StandingApprovals lists the standing approvals that have not ended.
func (c *Client) StandingApprovals(ctx context.Context, orgID string) ([]StandingApproval, error) {
	return list[StandingApproval](ctx, c, "/delegation/allows", inOrg(orgID))
}

// RevokeStandingApproval revokes a standing approval.
func (c *Client) RevokeStandingApproval(ctx context.Context, orgID, id string) error {
	return c.delete(ctx, "/delegation/allows/"+segment(id), inOrg(orgID))
}

// ApprovalSettings say how an organization answers approval requests.
type ApprovalSettings struct {
	SelfApproval   bool  `json:"selfApproval"`
	PendingSeconds int64 `json:"pendingSeconds"`
	GrantSeconds   int64 `json:"grantSeconds"`
}

// ApprovalSettings reads the settings of an organization.
func (c *Client) ApprovalSettings(ctx context.Context, orgID string) (ApprovalSettings, error) {
	return get[ApprovalSettings](ctx, c, "/delegation/settings", inOrg(orgID))
}

// SetApprovalSettings changes the settings of an organization.
func (c *Client) SetApprovalSettings(
	ctx context.Context, orgID string, to ApprovalSettings,
) (ApprovalSettings, error) {
	return put[ApprovalSettings](ctx, c, "/delegation/settings", inOrg(orgID), to)
}
