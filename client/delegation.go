package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ApprovalQuestion is what an agent asks a person for.
type ApprovalQuestion struct {
	Tool           string          `json:"tool"`
	Action         string          `json:"action"`
	Arguments      json.RawMessage `json:"arguments,omitempty"` // without them no grant comes of it
	Amount         *float64        `json:"amount,omitempty"`
	RequesterEmail string          `json:"requesterEmail"`
	Domain         string          `json:"domain,omitempty"` // the MCP server
	PlanID         string          `json:"planId,omitempty"`
	Reason         string          `json:"reason,omitempty"`
}

// Delegation is a request for approval as the key sees it that asked.
type Delegation struct {
	ID              string          `json:"delegationId"`
	Status          string          `json:"status"` // pending, approved, rejected, cancelled, expired
	ExpiresAt       time.Time       `json:"expiresAt"`
	Kind            string          `json:"kind"` // hold or ask
	Server          string          `json:"server"`
	Tool            string          `json:"tool"`
	Note            string          `json:"note"`
	EditedArguments json.RawMessage `json:"editedArguments"` // the approver wants these instead
	DecidedAt       *time.Time      `json:"decidedAt"`
	GrantExpiresAt  *time.Time      `json:"grantExpiresAt"` // until when a yes to the very call holds
	Used            bool            `json:"used"`           // whether that yes was used
	ExecutedAt      *time.Time      `json:"executedAt"`
}

// RequestApproval asks a person for a yes. Asking the same again finds the same
// request.
func (c *Client) RequestApproval(ctx context.Context, q ApprovalQuestion) (d Delegation, err error) {
	return d, c.Call(ctx, http.MethodPost, "/delegation/request", nil, q, &d)
}

// PollApproval waits until the request is answered, for at most so many seconds.
func (c *Client) PollApproval(ctx context.Context, id string, seconds int) (d Delegation, err error) {
	q := url.Values{"delegationId": {id}, "waitSeconds": {strconv.Itoa(seconds)}}
	return d, c.Call(ctx, http.MethodGet, "/delegation/poll", q, nil, &d)
}

// CancelApproval takes a request back.
func (c *Client) CancelApproval(ctx context.Context, orgID, id string) (d Delegation, err error) {
	return d, c.Call(ctx, http.MethodPost, "/delegation/cancel", inOrg(orgID), map[string]string{"delegationId": id},
		&d)
}

// MarkExecuted says that the approved call has been made.
func (c *Client) MarkExecuted(ctx context.Context, id string) (d Delegation, err error) {
	return d, c.Call(ctx, http.MethodPost, "/delegation/mark-executed", nil, map[string]string{"delegationId": id}, &d)
}

// Approval is a request for approval as people see it.
type Approval struct {
	Delegation
	OrganizationID string          `json:"organizationId"`
	Arguments      json.RawMessage `json:"arguments"` // redacted; null for who may not read payloads
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
	ApproverRole   string          `json:"approverRole"`
	Needed         int             `json:"needed"`
	SelfApproved   bool            `json:"selfApproved"`
	Risk           ApprovalRisk    `json:"risk"`
	Repeats        int64           `json:"repeats"`
	LastAskedAt    *time.Time      `json:"lastAskedAt"`
	CreatedAt      time.Time       `json:"createdAt"`
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

// ShownApproval is a request with all that helps to decide about it.
type ShownApproval struct {
	Approval
	Scopes []struct {
		Kind  string `json:"kind"`
		Words string `json:"words"`
	} `json:"scopes"`
	PolicyName string           `json:"policyName"`
	PolicyRule *PolicyRule      `json:"policyRule"`
	PlanGoal   string           `json:"planGoal"`
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

// ApprovalVote is a person's yes.
type ApprovalVote struct {
	UserID string    `json:"userId"`
	At     time.Time `json:"at"`
}

// ApprovalHistory is what was decided before about the tool of a request.
type ApprovalHistory struct {
	Decisions []PastDecision `json:"decisions"`
}

// PastDecision is an earlier decision; the log has the rest, under its index.
type PastDecision struct {
	Time     time.Time `json:"time"`
	Agent    string    `json:"agent"`
	Decision string    `json:"decision"`
	Index    int64     `json:"index"`
}

// ApprovalFilter says which requests a list shows. What is empty does not narrow it.
type ApprovalFilter struct {
	List
	Status, Tool, AgentID, KeyID, Kind, Risk, Requester string
	Since, Before                                       time.Time
}

// Approvals lists the requests for approval of an organization, newest first.
func (c *Client) Approvals(ctx context.Context, orgID string, f ApprovalFilter) (p Page[Approval], err error) {
	q := f.values()
	for name, value := range map[string]string{
		"organizationId": orgID, "status": f.Status, "tool": f.Tool, "agentId": f.AgentID, "keyId": f.KeyID,
		"kind": f.Kind, "risk": f.Risk, "requester": f.Requester,
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
	return p, c.Call(ctx, http.MethodGet, "/delegation/requests", q, nil, &p)
}

// Approval shows a request.
func (c *Client) Approval(ctx context.Context, orgID, id string) (a ShownApproval, err error) {
	return a, c.Call(ctx, http.MethodGet, "/delegation/requests/"+segment(id), inOrg(orgID), nil, &a)
}

// Yes is what a person permits. Zero but for the id, it is one run of the very call.
type Yes struct {
	ID        string          `json:"delegationId"`
	Note      string          `json:"note,omitempty"`
	Scope     *ApprovalScope  `json:"scope,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // run it with these instead
}

// ApprovalScope is how far a yes goes.
type ApprovalScope struct {
	Kind    string                     `json:"kind"` // once, session, minutes, pattern, plan
	Minutes int                        `json:"minutes,omitempty"`
	Uses    int                        `json:"uses,omitempty"`
	Pattern map[string]json.RawMessage `json:"pattern,omitempty"`
}

// Answered is a request that a person has answered.
type Answered struct {
	Approval
	Permits string `json:"permits"` // what the yes permits, in words
}

// Approve says yes. Where more than one must, the request may still be pending.
func (c *Client) Approve(ctx context.Context, orgID string, y Yes) (a Answered, err error) {
	return a, c.Call(ctx, http.MethodPost, "/delegation/approve", inOrg(orgID), y, &a)
}

// Reject says no. The note reaches the agent.
func (c *Client) Reject(ctx context.Context, orgID, id, note string) (a Answered, err error) {
	body := map[string]string{"delegationId": id, "note": note}
	return a, c.Call(ctx, http.MethodPost, "/delegation/reject", inOrg(orgID), body, &a)
}

// PreviewApproval says in words what a yes would permit, and changes nothing.
func (c *Client) PreviewApproval(ctx context.Context, orgID string, y Yes) (words string, err error) {
	var out struct {
		Permits string `json:"permits"`
	}
	body := map[string]any{"delegationId": y.ID, "scope": y.Scope}
	err = c.Call(ctx, http.MethodPost, "/delegation/preview", inOrg(orgID), body, &out)
	return out.Permits, err
}

// StandingAllow is a yes that is wider than one call.
type StandingAllow struct {
	ID           string    `json:"id"`
	DelegationID string    `json:"delegationId"`
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
	Lapsed       bool      `json:"lapsed"` // who gave it may not give it now, so that it permits nothing
}

// StandingAllows are the wider yeses that have not ended.
func (c *Client) StandingAllows(ctx context.Context, orgID string) ([]StandingAllow, error) {
	var out struct {
		Items []StandingAllow `json:"items"`
	}
	err := c.Call(ctx, http.MethodGet, "/delegation/allows", inOrg(orgID), nil, &out)
	return out.Items, err
}

// RevokeAllow takes a wider yes back.
func (c *Client) RevokeAllow(ctx context.Context, orgID, id string) error {
	return c.Call(ctx, http.MethodDelete, "/delegation/allows/"+segment(id), inOrg(orgID), nil, nil)
}

// ApprovalSettings say how an organization answers requests for approval.
type ApprovalSettings struct {
	SelfApproval   bool  `json:"selfApproval"`
	PendingSeconds int64 `json:"pendingSeconds"`
	GrantSeconds   int64 `json:"grantSeconds"`
}

// ApprovalSettings are those of an organization.
func (c *Client) ApprovalSettings(ctx context.Context, orgID string) (s ApprovalSettings, err error) {
	return s, c.Call(ctx, http.MethodGet, "/delegation/settings", inOrg(orgID), nil, &s)
}

// SetApprovalSettings changes them.
func (c *Client) SetApprovalSettings(
	ctx context.Context, orgID string, to ApprovalSettings,
) (s ApprovalSettings, err error) {
	return s, c.Call(ctx, http.MethodPut, "/delegation/settings", inOrg(orgID), to, &s)
}
