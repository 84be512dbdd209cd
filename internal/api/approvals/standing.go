package approvals

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/approval"
	"writ/internal/principal"
)

func (h *Handlers) mountStanding(r *route.Router) {
	route.Handle(r, route.Get("/delegation/allows", "Standing approvals that have not ended, newest first").
		For(route.Person).Needs(principal.ReadTelemetry), h.listStanding)
	route.Handle(r, route.Delete("/delegation/allows/{id}", "Revoke a standing approval; later calls wait again").
		For(route.Person).Needs(principal.OwnKeys).Records("approval.revoked").Answers(http.StatusNoContent), h.revoke)
}

// AllowBody is a standing approval.
type AllowBody struct {
	ID           string             `json:"id" format:"uuid"`
	ApprovalID   string             `json:"approvalId" format:"uuid" doc:"The request that it answered."`
	DelegationID string             `json:"delegationId" format:"uuid" doc:"The same, under its earlier name."`
	Scope        approval.ScopeKind `json:"scope" enum:"session,minutes,pattern,plan"`
	Permits      string             `json:"permits" doc:"What it permits, in the words that the approver saw."`
	GivenBy      string             `json:"givenBy" doc:"The approver."`
	Uses         int                `json:"uses" doc:"How often it may be used."`
	Used         int                `json:"used" doc:"How often it was used."`
	CreatedAt    time.Time          `json:"createdAt"`
	ExpiresAt    time.Time          `json:"expiresAt"`
	Lapsed       bool               `json:"lapsed" doc:"The approver has lost the right to approve, so that it permits nothing until they have it again."`
	KeyID        string             `json:"keyId" doc:"The key it is for."`
	OwnerID      string             `json:"ownerId" doc:"Of that key."`
	AgentID      string             `json:"agentId,omitempty" doc:"Absent: calls of any agent; likewise for the next members."`
	UserID       string             `json:"userId,omitempty"`
	Email        string             `json:"requesterEmail,omitempty"`
	SessionID    string             `json:"sessionId,omitempty"`
	PlanID       string             `json:"planId,omitempty"`
	Server       string             `json:"server,omitempty"`
	Tool         string             `json:"tool,omitempty"`
}

// AllowsBody are standing approvals.
type AllowsBody struct {
	Items []AllowBody `json:"items" nullable:"false" doc:"At most 500."`
}

type listAllowsInput struct{ route.OrganizationQuery }

func (h *Handlers) listStanding(
	ctx context.Context, caller principal.Principal, _ *listAllowsInput,
) (AllowsBody, error) {
	allows, err := h.Approvals.ListStanding(ctx, caller)
	if err != nil {
		return AllowsBody{}, err
	}
	out := AllowsBody{Items: make([]AllowBody, len(allows))}
	for i, y := range allows {
		out.Items[i] = AllowBody{
			ID:           y.ID,
			ApprovalID:   y.RequestID,
			DelegationID: y.RequestID,
			Scope:        y.Scope,
			Permits:      y.Words,
			GivenBy:      y.GivenBy,
			Uses:         y.Uses,
			Used:         y.Used,
			CreatedAt:    y.CreatedAt,
			ExpiresAt:    y.ExpiresAt,
			Lapsed:       y.Lapsed,
			KeyID:        y.KeyID,
			OwnerID:      y.OwnerID,
			AgentID:      y.AgentID,
			UserID:       y.UserID,
			Email:        y.Email,
			SessionID:    y.SessionID,
			PlanID:       y.PlanID,
			Server:       y.Server,
			Tool:         y.Tool,
		}
		if y.Scope == approval.ByPattern && !caller.May(principal.ReadPayloads) {
			out.Items[i].Permits = "" // it repeats arguments
		}
	}
	return out, nil
}

type allowInput struct {
	route.OrganizationQuery
	ID string `path:"id" doc:"The standing approval."`
}

func (h *Handlers) revoke(ctx context.Context, caller principal.Principal, in *allowInput) (route.None, error) {
	_, err := h.Approvals.Revoke(ctx, caller, in.ID)
	return route.None{}, err
}
