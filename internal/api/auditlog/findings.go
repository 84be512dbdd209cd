package auditlog

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/execution"
	"writ/internal/page"
	"writ/internal/principal"
)

func (h *Handlers) mountFindings(r *route.Router) {
	route.Handle(r, read(route.Get("/audit-log/findings", "What does not fit together, newest first")), h.listFindings)
	route.Handle(r, read(route.Get("/audit-log/findings/{findingId}", "A finding")), h.getFinding)
}

// FindingBody is a contradiction between what was decided and what was reported.
type FindingBody struct {
	ID          string         `json:"id" format:"uuid"`
	Kind        execution.Kind `json:"kind" enum:"execution_without_decision,execution_with_other_arguments,execution_not_confined,refused_by_kernel,execution_outside_lease,lease_gap,decision_without_outcome,sequence_gap,result_with_instructions,result_with_secret"`
	FoundAt     time.Time      `json:"foundAt"`
	HappenedAt  time.Time      `json:"happenedAt" doc:"When the call was decided, or executed by the client's clock."`
	Index       int64          `json:"index" doc:"The entry of the log it is about."`
	KeyID       string         `json:"keyId"`
	AgentID     string         `json:"agentId,omitzero"`
	SessionID   string         `json:"sessionId,omitzero"`
	PlanID      string         `json:"planId,omitzero"`
	Tool        string         `json:"tool,omitzero"`
	DecisionID  string         `json:"decisionId,omitzero"`
	ExecutionID string         `json:"executionId,omitzero"`
	FirstSeq    int64          `json:"firstSeq,omitzero" doc:"Of a gap: the first number that is missing."`
	LastSeq     int64          `json:"lastSeq,omitzero" doc:"Of a gap: the last one."`
	Missing     int64          `json:"missing,omitzero" doc:"Of a gap: how many still are."`
	Detail      string         `json:"detail,omitzero" doc:"What does not match, where the kind does not say it all."`
	ResolvedAt  *time.Time     `json:"resolvedAt" doc:"When what was missing came after all; null: it has not."`
}

type listFindingsInput struct {
	route.OrganizationQuery
	route.PageInput
	Kind string `query:"kind" enum:"execution_without_decision,execution_with_other_arguments,execution_not_confined,refused_by_kernel,execution_outside_lease,lease_gap,decision_without_outcome,sequence_gap,result_with_instructions,result_with_secret" doc:"Findings of this kind."`
	Open string `query:"open" enum:"true,false" doc:"true: only those that are not resolved."`
}

func (h *Handlers) listFindings(
	ctx context.Context, caller principal.Principal, in *listFindingsInput,
) (page.Page[FindingBody], error) {
	found, err := h.Executions.Findings(ctx, caller, execution.FindingFilter{
		Kind: execution.Kind(in.Kind), Open: in.Open == "true", Cursor: in.Cursor, Limit: in.Limit,
	})
	return route.MapPage(found, findingBody), err
}

type findingInput struct {
	route.OrganizationQuery
	FindingID string `path:"findingId" doc:"The finding."`
}

func (h *Handlers) getFinding(
	ctx context.Context, caller principal.Principal, in *findingInput,
) (FindingBody, error) {
	found, err := h.Executions.Finding(ctx, caller, in.FindingID)
	return findingBody(found), err
}

func findingBody(f execution.Finding) FindingBody {
	return FindingBody{
		ID:          f.ID,
		Kind:        f.Kind,
		FoundAt:     f.FoundAt,
		HappenedAt:  f.HappenedAt,
		Index:       f.Position,
		KeyID:       f.KeyID,
		AgentID:     f.AgentID,
		SessionID:   f.SessionID,
		PlanID:      f.PlanID,
		Tool:        f.Tool,
		DecisionID:  f.DecisionID,
		ExecutionID: f.ExecutionID,
		FirstSeq:    f.FirstSeq,
		LastSeq:     f.LastSeq,
		Missing:     f.Missing,
		Detail:      f.Detail,
		ResolvedAt:  f.ResolvedAt,
	}
}
