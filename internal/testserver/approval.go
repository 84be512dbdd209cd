package testserver

import (
	"encoding/json"
	"fmt"

	"writ/client"
	"writ/internal/database"
)

// ApprovalRequest is for a payment that no other request is for.
func ApprovalRequest() client.NewApprovalRequest {
	amount := 5.0
	arguments := fmt.Sprintf(`{"amount":5,"invoice":%q}`, database.NewID())
	return client.NewApprovalRequest{
		Tool:           "pay",
		Action:         "pay",
		Arguments:      json.RawMessage(arguments),
		Amount:         &amount,
		Domain:         "bank",
		Reason:         "an invoice is due",
		RequesterEmail: database.NewID() + "@customer.example", // nobody is throttled
	}
}

// OpenedApproval is a request of the agent that waits.
func (s *Server) OpenedApproval(agent *client.Client) string {
	s.T.Helper()
	return s.opened(agent, ApprovalRequest())
}

func (s *Server) opened(agent *client.Client, asked client.NewApprovalRequest) string {
	s.T.Helper()
	d, err := agent.RequestApproval(s.T.Context(), asked)
	if err != nil {
		s.T.Fatalf("ask for an approval: %v", err)
	}
	return d.ID
}

// Approved is a request of the agent that was approved.
func (s *Server) Approved(agent *client.Client, by *Person, orgID string, scope *client.ApprovalScope) string {
	s.T.Helper()
	id := s.OpenedApproval(agent)
	if _, err := by.Approve(s.T.Context(), orgID, client.Approval{ID: id, Scope: scope}); err != nil {
		s.T.Fatalf("approve: %v", err)
	}
	return id
}

// StandingApproval approves the plan that a request of the agent is for. What a client asks for itself is approved once
// or for its plan.
func (s *Server) StandingApproval(agent *client.Client, by *Person, orgID string) string {
	s.T.Helper()
	declared, err := agent.DeclarePlan(s.T.Context(), client.PlanRequest{
		Plan: json.RawMessage(`{"goal":"pay an invoice","steps":[{"action":"pay","mcp":"bank"}]}`),
	})
	if err != nil {
		s.T.Fatalf("declare a plan: %v", err)
	}
	asked := ApprovalRequest()
	asked.PlanID = declared.PlanID
	request := s.opened(agent, asked)
	scope := &client.ApprovalScope{Kind: "plan"}
	if _, err := by.Approve(s.T.Context(), orgID, client.Approval{ID: request, Scope: scope}); err != nil {
		s.T.Fatalf("approve: %v", err)
	}
	allows, err := by.StandingApprovals(s.T.Context(), orgID)
	if err != nil {
		s.T.Fatalf("list standing approvals: %v", err)
	}
	for _, a := range allows {
		if a.DelegationID == request {
			return a.ID
		}
	}
	s.T.Fatalf("no standing approval came of %s: %+v", request, allows)
	return ""
}
