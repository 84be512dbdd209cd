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
	d, err := agent.RequestApproval(s.T.Context(), ApprovalRequest())
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

// StandingApproval approves a request of the agent for some minutes.
func (s *Server) StandingApproval(agent *client.Client, by *Person, orgID string) string {
	s.T.Helper()
	request := s.Approved(agent, by, orgID, &client.ApprovalScope{Kind: "minutes", Minutes: 5})
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
