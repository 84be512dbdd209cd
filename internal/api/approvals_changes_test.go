package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"writ/client"
	"writ/internal/testserver"
)

func (w *changes) requestApproval() func(context.Context) (string, error) {
	agent, asked := w.agent(), testserver.ApprovalRequest()
	w.OpenedApproval(agent) // the first makes the key of digests
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.RequestApproval(ctx, asked)
		return err
	})
}

func (w *changes) checkApproved() func(context.Context) (string, error) {
	// what nothing holds is denied
	w.ActivePolicy(w.owner, w.org,
		"version: v1\nname: held\nrules:\n  - {id: held, effect: hold, tools: [\"shop.pay\"]}\n")
	// where a plan is required, only what a decision compared with one is released
	if _, err := w.owner.SetEnforcementSettings(w.T.Context(), w.org, client.EnforcementSettings{
		MaxPlanTTLSeconds: 3600,
	}); err != nil {
		w.T.Fatalf("require no plan: %v", err)
	}
	agent, asked := w.agent(), testserver.ApprovalRequest()
	asked.Domain = "shop" // other changes have policies about the bank
	d, err := agent.RequestApproval(w.T.Context(), asked)
	if err != nil {
		w.T.Fatalf("ask for an approval: %v", err)
	}
	if _, err := w.owner.Approve(w.T.Context(), w.org, client.Approval{ID: d.ID}); err != nil {
		w.T.Fatalf("approve: %v", err)
	}
	agent.HTTP = &http.Client{Transport: asUser{w.Public.HTTP.Transport, asked.RequesterEmail}}
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
	id := w.Approved(agent, w.owner, w.org, nil)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.MarkExecuted(ctx, id)
		return err
	})
}

func (w *changes) cancelApproval() func(context.Context) (string, error) {
	agent := w.agent()
	id := w.OpenedApproval(agent)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.CancelApproval(ctx, "", id)
		return err
	})
}

func (w *changes) approveCall() func(context.Context) (string, error) {
	id := w.OpenedApproval(w.agent())
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.Approve(ctx, w.org, client.Approval{ID: id, Note: "fine"})
		return err
	})
}

func (w *changes) rejectCall() func(context.Context) (string, error) {
	id := w.OpenedApproval(w.agent())
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.Reject(ctx, w.org, id, "no")
		return err
	})
}

func (w *changes) previewApproval() func(context.Context) (string, error) {
	id := w.OpenedApproval(w.agent())
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.PreviewApproval(ctx, w.org, client.Approval{ID: id})
		return err
	})
}

func (w *changes) revokeAllow() func(context.Context) (string, error) {
	id := w.StandingApproval(w.agent(), w.owner, w.org)
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
