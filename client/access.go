package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Bindings say whom a policy is for. Without any it is for everybody.
type Bindings struct {
	Members []string `json:"members,omitempty"`
	Clients []string `json:"clients,omitempty"`
	Roles   []string `json:"roles,omitempty"`
}

// Bindings reads the bindings of a policy.
func (c *Client) Bindings(ctx context.Context, policyID string) (Bindings, error) {
	return get[Bindings](ctx, c, policyPath(policyID, "/bindings"), nil)
}

// SetBindings replaces the bindings of a policy; there must be at least one. See
// BindEverybody.
func (c *Client) SetBindings(ctx context.Context, policyID string, b Bindings) (Bindings, error) {
	return put[Bindings](ctx, c, policyPath(policyID, "/bindings"), nil, b)
}

// BindEverybody removes all bindings, so that the policy is for everybody.
func (c *Client) BindEverybody(ctx context.Context, policyID string) (Bindings, error) {
	body := struct {
		Everybody bool `json:"everybody"`
	}{true}
	return put[Bindings](ctx, c, policyPath(policyID, "/bindings"), nil, body)
}

// Bind adds bindings to a policy.
func (c *Client) Bind(ctx context.Context, policyID string, b Bindings) (Bindings, error) {
	return post[Bindings](ctx, c, policyPath(policyID, "/bindings"), nil, b)
}

// Unbind removes one binding: of kind members, clients or roles.
func (c *Client) Unbind(ctx context.Context, policyID, kind, subject string) (Bindings, error) {
	return call[Bindings](ctx, c, http.MethodDelete,
		policyPath(policyID, "/bindings/"+segment(kind)+"/"+segment(subject)), nil, nil)
}

// ToolCall is a call that a question is about.
type ToolCall struct {
	Server    string          `json:"server,omitempty"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	AgentID   string          `json:"agentId,omitempty"`
	UserEmail string          `json:"userEmail,omitempty"`

	Capabilities []string `json:"capabilities,omitempty"` // of the caller, in a simulation
}

// Access is what policies say about a call.
type Access struct {
	Allowed       bool             `json:"allowed"`
	Decision      string           `json:"decision"`
	Reason        string           `json:"reason"`
	Message       string           `json:"message"`
	MatchedPolicy *MatchedPolicy   `json:"matchedPolicy"`
	Rule          string           `json:"rule"`
	Approvers     *PolicyApprovers `json:"approvers"`
	Confine       *Confinement     `json:"confine"`
	Oblige        *Obligations     `json:"oblige"`
	Explanation   []ConsideredRule `json:"explanation"`
}

// MatchedPolicy names the policy that decided.
type MatchedPolicy struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// ConsideredRule is a rule that names the tool, and why it matched or not.
type ConsideredRule struct {
	PolicyID string        `json:"policyId"`
	Rule     string        `json:"rule"`
	Effect   string        `json:"effect"`
	Pattern  string        `json:"pattern"`
	Matched  bool          `json:"matched"`
	Decided  bool          `json:"decided"`
	Outcome  string        `json:"outcome"`
	When     string        `json:"when"`
	Steps    []ExplainStep `json:"steps"`
	Error    string        `json:"error"`
	Limit    *LimitUse     `json:"limit"`
	Confine  *Confinement  `json:"confine"`
}

// ExplainStep is a part of a condition and its value.
type ExplainStep struct {
	Expression string `json:"expression"`
	Value      string `json:"value"`
	Error      string `json:"error"`
}

// LimitUse is how much of a limit is used.
type LimitUse struct {
	Unit    string `json:"unit"`
	By      string `json:"by"`
	Subject string `json:"subject"`
	Used    int64  `json:"used"`
	Max     int64  `json:"max"`
}

// CheckAccess asks whether the active policies allow a call.
func (c *Client) CheckAccess(ctx context.Context, orgID string, t ToolCall) (Access, error) {
	return post[Access](ctx, c, "/policies/check-access", inOrg(orgID), t)
}

// Simulation is a question about one policy alone, stored or as a document.
type Simulation struct {
	PolicyID      string          `json:"policyId,omitempty"`
	PolicyVersion int             `json:"policyVersion,omitempty"`
	Document      json.RawMessage `json:"document,omitempty"`
	YAML          string          `json:"yaml,omitempty"`
	Call          ToolCall        `json:"call"`
}

// SimulatePolicy asks what one policy would say about a call.
func (c *Client) SimulatePolicy(ctx context.Context, orgID string, s Simulation) (Access, error) {
	return post[Access](ctx, c, "/policies/simulate", inOrg(orgID), s)
}

// PolicyTests is a document, and tests of it in the form of writd policy test.
type PolicyTests struct {
	YAML  string `json:"yaml"`
	Tests string `json:"tests"`
}

// PolicyTestResults is what tests have shown.
type PolicyTestResults struct {
	Passed  bool               `json:"passed"`
	Results []PolicyTestResult `json:"results"`
}

// PolicyTestResult is the result of one test.
type PolicyTestResult struct {
	Name     string   `json:"name"`
	Line     int      `json:"line"`
	Passed   bool     `json:"passed"`
	Want     string   `json:"want"`
	Decision string   `json:"decision"`
	Rule     string   `json:"rule"`
	Reason   string   `json:"reason"`
	Failures []string `json:"failures"`
}

// TestPolicy runs tests against a document that need not be stored.
func (c *Client) TestPolicy(ctx context.Context, orgID string, tests PolicyTests) (PolicyTestResults, error) {
	return post[PolicyTestResults](ctx, c, "/policies/test", inOrg(orgID), tests)
}
