package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// PolicyFinding is something that a policy says in vain, or too much of.
type PolicyFinding struct {
	Kind string `json:"kind"`
	PolicyProblem
	Fix   string `json:"fix"`
	Calls int64  `json:"calls"` // recorded ones that say so; 0: the text does
}

// PolicyFindings are what was found about a version of a policy.
type PolicyFindings struct {
	PolicyVersion int             `json:"policyVersion"`
	Findings      []PolicyFinding `json:"findings"`
	Calls         int64           `json:"calls"`
	Incomplete    bool            `json:"incomplete"`
}

// PolicyFindings tells what a policy says in vain. With version 0 it is the latest; with
// days its conditions are tried on the calls that were recorded in them.
func (c *Client) PolicyFindings(ctx context.Context, policyID string, version, days int) (PolicyFindings, error) {
	query := url.Values{}
	if version > 0 {
		query.Set("version", strconv.Itoa(version))
	}
	if days > 0 {
		query.Set("days", strconv.Itoa(days))
	}
	return call[PolicyFindings](ctx, c, http.MethodGet, policyPath(policyID, "/findings"), query, nil)
}

// SuggestionRequest says what a policy is suggested from.
type SuggestionRequest struct {
	AgentID string `json:"agentId"`
	Days    int    `json:"days"`
	Name    string `json:"name,omitempty"`
}

// Seen is how often calls were seen.
type Seen struct {
	Calls     int64     `json:"calls"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Decisions []string  `json:"decisions"`
	Keys      []string  `json:"keys"`     // that asked
	MoreKeys  bool      `json:"moreKeys"` // there were others
}

// Evidence is what a rule was made of.
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

// SuggestPolicy has the least policy stored that would have let the calls of an
// agent run that were allowed.
func (c *Client) SuggestPolicy(ctx context.Context, orgID string, r SuggestionRequest) (Suggestion, error) {
	return call[Suggestion](ctx, c, http.MethodPost, "/policies/suggest", inOrg(orgID), r)
}
