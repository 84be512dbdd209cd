package client

import (
	"context"
	"time"
)

// Answering is how approval requests are answered. A number is nil where there is
// nothing to compute it from.
type Answering struct {
	Approved       int      `json:"approved"`
	Rejected       int      `json:"rejected"`
	ShareApproved  *float64 `json:"shareApproved"`
	MedianSeconds  *float64 `json:"medianSeconds"`
	QuickApprovals int      `json:"quickYeses"` // within two seconds
}

// ApproverStats is how one person answers.
type ApproverStats struct {
	UserID string `json:"userId"`
	Answering
}

// ApprovalStats is how an organization answers.
type ApprovalStats struct {
	Since   time.Time `json:"since"`
	Before  time.Time `json:"before"`
	Opened  int       `json:"opened"`
	Waiting int       `json:"waiting"`
	Answering
	Cancelled int             `json:"cancelled"`
	Expired   int             `json:"expired"`
	Covered   int             `json:"covered"` // by a standing approval
	Approvers []ApproverStats `json:"approvers"`
}

// ApprovalStats reads how an organization answered requests in a span of time; with
// zero times in the last thirty days.
func (c *Client) ApprovalStats(
	ctx context.Context, orgID string, since, before time.Time,
) (ApprovalStats, error) {
	return get[ApprovalStats](ctx, c, "/delegation/figures",
		query("organizationId", orgID, "since", since, "before", before))
}
