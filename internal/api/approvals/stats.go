package approvals

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/approval"
	"writ/internal/principal"
)

type approvalFiguresInput struct {
	route.OrganizationQuery
	Since  time.Time `query:"since" doc:"Answers given then or later; absent: 30 days before the end."`
	Before time.Time `query:"before" doc:"Answers given earlier; absent: now. At most 92 days after since."`
}

// AnsweringBody is how requests are answered.
type AnsweringBody struct {
	Approved      int      `json:"approved" doc:"Requests that were approved."`
	Rejected      int      `json:"rejected" doc:"Requests that were rejected."`
	ShareApproved *float64 `json:"shareApproved" doc:"From 0 to 1; null: nothing was answered."`
	MedianSeconds *float64 `json:"medianSeconds" doc:"From the request to its answer; null: nothing was answered."`
	QuickYeses    int      `json:"quickYeses" doc:"Approvals within two seconds of the request, counted for each approver."`
}

// ApproverFiguresBody is how one person answers: each approval counts, also if
// several are needed.
type ApproverFiguresBody struct {
	UserID string `json:"userId" format:"uuid"`
	AnsweringBody
}

// ApprovalFiguresBody is how an organization answers requests for approval.
type ApprovalFiguresBody struct {
	Since   time.Time `json:"since"`
	Before  time.Time `json:"before"`
	Opened  int       `json:"opened" doc:"Requests in that time."`
	Waiting int       `json:"waiting" doc:"Requests that are pending now."`
	AnsweringBody
	Cancelled int                   `json:"cancelled" doc:"Cancelled by the requester."`
	Expired   int                   `json:"expired" doc:"Nobody answered."`
	Covered   int                   `json:"covered" doc:"Answered by a standing approval, and not counted as approved."`
	Approvers []ApproverFiguresBody `json:"approvers" nullable:"false" doc:"The people who answered."`
}

func (h *Handlers) stats(
	ctx context.Context, caller principal.Principal, in *approvalFiguresInput,
) (ApprovalFiguresBody, error) {
	f, err := h.Approvals.Stats(ctx, caller, approval.Period{From: in.Since, Until: in.Before})
	if err != nil {
		return ApprovalFiguresBody{}, err
	}
	body := ApprovalFiguresBody{
		Since:     f.From,
		Before:    f.Until,
		Opened:    f.Opened,
		Waiting:   f.Waiting,
		Cancelled: f.Cancelled,
		Expired:   f.Expired,
		Covered:   f.Covered,
		AnsweringBody: AnsweringBody{
			Approved: f.Approved, Rejected: f.Rejected, ShareApproved: f.ShareApproved, QuickYeses: f.QuickApprovals,
		},
		Approvers: make([]ApproverFiguresBody, len(f.Approvers)),
	}
	if f.MedianTime != nil {
		seconds := f.MedianTime.Seconds()
		body.MedianSeconds = &seconds
	}
	for i, by := range f.Approvers {
		seconds := by.MedianTime.Seconds()
		body.Approvers[i] = ApproverFiguresBody{
			by.UserID, AnsweringBody{by.Approved, by.Rejected, &by.ShareApproved, &seconds, by.QuickApprovals},
		}
	}
	return body, nil
}
