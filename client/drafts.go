package client

import (
	"context"
)

// DraftRequest says what a policy is drafted from.
type DraftRequest struct {
	Description string `json:"description"`
	Name        string `json:"name,omitempty"`
	Source      string `json:"source,omitempty"` // template or model; empty: what the server has
	Template    string `json:"template,omitempty"`
}

// DraftedTest is the result of a test of a draft.
type DraftedTest struct {
	Name     string   `json:"name"`
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures"`
}

// Drafted is a policy that was drafted from words and stored as a draft.
type Drafted struct {
	Policy
	Source      string          `json:"source"`
	Template    string          `json:"template"`
	Explanation []string        `json:"explanation"`
	Tests       string          `json:"tests"`
	TestResults []DraftedTest   `json:"testResults"`
	Passed      bool            `json:"passed"`
	Findings    []PolicyFinding `json:"findings"`
}

// DraftPolicy drafts a policy from words, and stores it.
func (c *Client) DraftPolicy(ctx context.Context, orgID string, r DraftRequest) (Drafted, error) {
	return post[Drafted](ctx, c, "/policies/draft", inOrg(orgID), r)
}
