package client

import (
	"context"
	"time"
)

// PolicyFinding is a likely mistake in a policy.
type PolicyFinding struct {
	Kind string `json:"kind"`
	PolicyProblem
	Fix   string `json:"fix"`
	Calls int64  `json:"calls"` // recorded ones that show it; 0: the text alone does
}

// PolicyFindings are the findings about a version of a policy.
type PolicyFindings struct {
	PolicyVersion int             `json:"policyVersion"`
	Findings      []PolicyFinding `json:"findings"`
	Calls         int64           `json:"calls"`
	Incomplete    bool            `json:"incomplete"`
}

// PolicyFindings reads the findings about a version of a policy (0: the latest). With
// days, the conditions are also tried on the calls recorded in those days.
func (c *Client) PolicyFindings(ctx context.Context, policyID string, version, days int) (PolicyFindings, error) {
	return get[PolicyFindings](ctx, c, policyPath(policyID, "/findings"),
		query("version", version, "days", days))
}

// SuggestionRequest says what a policy is suggested from.
type SuggestionRequest struct {
	AgentID string `json:"agentId"`
	Days    int    `json:"days"`
	Name    string `json:"name,omitempty"`
}

// Seen counts recorded calls.
type Seen struct {
	Calls     int64     `json:"calls"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Decisions []string  `json:"decisions"`
	Keys      []string  `json:"keys"`     // that asked
	MoreKeys  bool      `json:"moreKeys"` // there were others
}

// Evidence is the calls that a rule was made from.
type Evidence struct {
	Rule string `json:"rule"`
	Seen
}

// LeftOut are calls that ran and that a suggestion does not allow.
type LeftOut struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
	Seen
}

// Suggestion is a policy that was suggested and stored as a draft.
type Suggestion struct {
	Policy
	Evidence   []Evidence `json:"evidence"`
	LeftOut    []LeftOut  `json:"leftOut"`
	Calls      int64      `json:"calls"`
	Incomplete bool       `json:"incomplete"`
}

// SuggestPolicy stores the least policy, as a draft, that would have allowed the calls
// of an agent that were allowed.
func (c *Client) SuggestPolicy(ctx context.Context, orgID string, r SuggestionRequest) (Suggestion, error) {
	return post[Suggestion](ctx, c, "/policies/suggest", inOrg(orgID), r)
}
