package api

import (
	"context"
	"net/http"
	"time"

	"writ/internal/approval"
	"writ/internal/principal"
)

// mountApprovalFigures serves the figures of an organization to its approvers, and
// those of the server to who watches it.
func (a *API) mountApprovalFigures() {
	a.metrics.registry.MustRegister(approvalCollector{a.Approvals})
	handle(a, Route{
		Method: http.MethodGet, Path: "/delegation/figures", Tag: delegationTag,
		Summary: "How requests for approval are answered, by all and by each: how fast, how often with yes, and how often without reading",
		Mode:    JWT, Action: principal.DecideApprovals,
	}, a.approvalFigures)
}

type approvalFiguresInput struct {
	OrganizationQuery
	Since  time.Time `query:"since" doc:"Answers given then or later; absent: 30 days before the end."`
	Before time.Time `query:"before" doc:"Answers given earlier; absent: now. At most 92 days after since."`
}

// AnsweringBody is how requests are answered.
type AnsweringBody struct {
	Approved      int      `json:"approved" doc:"With yes."`
	Rejected      int      `json:"rejected" doc:"With no."`
	ShareApproved *float64 `json:"shareApproved" doc:"From 0 to 1; null: nothing was answered."`
	MedianSeconds *float64 `json:"medianSeconds" doc:"From the request to its answer; null: nothing was answered."`
	QuickYeses    int      `json:"quickYeses" doc:"Yeses within two seconds of the request, by each who gave one."`
}

// ApproverFiguresBody is how one person answers: each yes counts, also where
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
	Waiting int       `json:"waiting" doc:"Requests that wait now."`
	AnsweringBody
	Cancelled int                   `json:"cancelled" doc:"Taken back by who asked."`
	Expired   int                   `json:"expired" doc:"Nobody answered."`
	Covered   int                   `json:"covered" doc:"Answered by a wider yes of before, and not counted as approved."`
	Approvers []ApproverFiguresBody `json:"approvers" nullable:"false" doc:"Who answered."`
}

type approvalFiguresOutput struct{ Body ApprovalFiguresBody }

func (a *API) approvalFigures(
	ctx context.Context, caller principal.Principal, in *approvalFiguresInput,
) (*approvalFiguresOutput, error) {
	f, err := a.Approvals.Stats(ctx, caller, approval.Period{From: in.Since, Until: in.Before})
	if err != nil {
		return nil, err
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
	return &approvalFiguresOutput{body}, nil
}
