package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"writ/client"
	"writ/internal/database"
)

// question asks for a payment of its own.
func question() client.NewApprovalRequest {
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

// opened is a request of the agent that waits.
func (s *server) opened(agent *client.Client) string {
	s.t.Helper()
	d, err := agent.RequestApproval(s.t.Context(), question())
	if err != nil {
		s.t.Fatalf("ask for an approval: %v", err)
	}
	return d.ID
}

// approved is a request of the agent that was approved.
func (s *server) approved(agent *client.Client, by *person, orgID string, scope *client.ApprovalScope) string {
	s.t.Helper()
	id := s.opened(agent)
	if _, err := by.Approve(s.t.Context(), orgID, client.Approval{ID: id, Scope: scope}); err != nil {
		s.t.Fatalf("approve: %v", err)
	}
	return id
}

// allowed is a wider yes to a request of the agent.
func (s *server) allowed(agent *client.Client, by *person, orgID string) string {
	s.t.Helper()
	request := s.approved(agent, by, orgID, &client.ApprovalScope{Kind: "minutes", Minutes: 5})
	allows, err := by.StandingApprovals(s.t.Context(), orgID)
	if err != nil {
		s.t.Fatalf("list wider yeses: %v", err)
	}
	for _, a := range allows {
		if a.DelegationID == request {
			return a.ID
		}
	}
	s.t.Fatalf("no wider yes came of %s: %+v", request, allows)
	return ""
}

func (w *changes) requestApproval() func(context.Context) (string, error) {
	agent, asked := w.agent(), question()
	w.opened(agent) // the first makes the key of digests
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.RequestApproval(ctx, asked)
		return err
	})
}

func (w *changes) checkApproved() func(context.Context) (string, error) {
	// what nothing holds is denied
	w.activePolicy(w.owner, w.org,
		"version: v1\nname: held\nrules:\n  - {id: held, effect: hold, tools: [\"shop.pay\"]}\n")
	agent, asked := w.agent(), question()
	asked.Domain = "shop" // other changes have policies about the bank
	d, err := agent.RequestApproval(w.t.Context(), asked)
	if err != nil {
		w.t.Fatalf("ask for an approval: %v", err)
	}
	if _, err := w.owner.Approve(w.t.Context(), w.org, client.Approval{ID: d.ID}); err != nil {
		w.t.Fatalf("approve: %v", err)
	}
	agent.HTTP = &http.Client{Transport: asUser{w.public.HTTP.Transport, asked.RequesterEmail}}
	return inLog(w.org, func(ctx context.Context) error {
		var out struct{ Approved bool }
		err := agent.Call(ctx, http.MethodGet, "/delegation/check-approved",
			url.Values{"tool": {"pay"}, "amount": {"5.0"}}, nil, &out)
		if err == nil && !out.Approved {
			err = errors.New("not approved")
		}
		return err
	})
}

// asUser says whom an agent works for, as SDKs do.
type asUser struct {
	http.RoundTripper
	email string
}

func (u asUser) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-User-Email", u.email)
	return u.RoundTripper.RoundTrip(r)
}

func (w *changes) markExecuted() func(context.Context) (string, error) {
	agent := w.agent()
	id := w.approved(agent, w.owner, w.org, nil)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.MarkExecuted(ctx, id)
		return err
	})
}

func (w *changes) cancelApproval() func(context.Context) (string, error) {
	agent := w.agent()
	id := w.opened(agent)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.CancelApproval(ctx, "", id)
		return err
	})
}

func (w *changes) approveCall() func(context.Context) (string, error) {
	id := w.opened(w.agent())
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.Approve(ctx, w.org, client.Approval{ID: id, Note: "fine"})
		return err
	})
}

func (w *changes) rejectCall() func(context.Context) (string, error) {
	id := w.opened(w.agent())
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.Reject(ctx, w.org, id, "no")
		return err
	})
}

func (w *changes) previewApproval() func(context.Context) (string, error) {
	id := w.opened(w.agent())
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.PreviewApproval(ctx, w.org, client.Approval{ID: id})
		return err
	})
}

func (w *changes) revokeAllow() func(context.Context) (string, error) {
	id := w.allowed(w.agent(), w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error { return w.owner.RevokeStandingApproval(ctx, w.org, id) })
}

func (w *changes) changeApprovalSettings() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.SetApprovalSettings(ctx, w.org, client.ApprovalSettings{
			PendingSeconds: 600, GrantSeconds: 60,
		})
		return err
	})
}
