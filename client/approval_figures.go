package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Answering is how requests for approval are answered. What is nil has nothing to
// be computed from.
type Answering struct {
	Approved      int      `json:"approved"`
	Rejected      int      `json:"rejected"`
	ShareApproved *float64 `json:"shareApproved"`
	MedianSeconds *float64 `json:"medianSeconds"`
	QuickYeses    int      `json:"quickYeses"` // within two seconds
}

// ApproverFigures is how one person answers.
type ApproverFigures struct {
	UserID string `json:"userId"`
	Answering
}

// ApprovalFigures is how an organization answers.
type ApprovalFigures struct {
	Since   time.Time `json:"since"`
	Before  time.Time `json:"before"`
	Opened  int       `json:"opened"`
	Waiting int       `json:"waiting"`
	Answering
	Cancelled int               `json:"cancelled"`
	Expired   int               `json:"expired"`
	Covered   int               `json:"covered"` // by a wider yes
	Approvers []ApproverFigures `json:"approvers"`
}

// ApprovalFigures tells how an organization answers requests, over answers from
// since on and before an end. Zero times are the last thirty days.
func (c *Client) ApprovalFigures(
	ctx context.Context, orgID string, since, before time.Time,
) (f ApprovalFigures, err error) {
	query := url.Values{"organizationId": {orgID}}
	for name, at := range map[string]time.Time{"since": since, "before": before} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	return f, c.Call(ctx, http.MethodGet, "/delegation/figures", query, nil, &f)
}
