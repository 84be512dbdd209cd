package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/billing/payment/paymenttest"
	"writ/internal/database"
	"writ/internal/testserver"
)

// changes are the scenarios and what they share.
type changes struct {
	*testserver.Server
	owner *testserver.Person
	org   string

	google   *testserver.Provider
	provider *paymenttest.Provider // of payments

	signedIn time.Time // the owner
}

// staySignedIn signs the owner in again before the access token ends. Some changes move the clock by minutes, and a
// busy machine takes as long for the rest.
func (w *changes) staySignedIn() {
	now := w.Database.Now()
	if w.signedIn.IsZero() {
		w.signedIn = now
	}
	if now.Sub(w.signedIn) > auth.AccessTokenLife/3 {
		*w.owner, w.signedIn = *w.SignIn(w.owner.Email), now
	}
}

// scenario prepares a change and gives it. The change says in which log it is
// to be found, and can be made again after a failure.
type scenario func() (change func(context.Context) (log string, err error))

func (w *changes) scenarios() map[string]scenario {
	return map[string]scenario{
		"POST /auth/register":        w.register,
		"POST /auth/verify-otp":      w.verifyOTP,
		"POST /auth/resend-otp":      w.resendOTP,
		"POST /auth/login":           w.login,
		"POST /auth/refresh":         w.refresh,
		"POST /auth/logout":          w.logout,
		"POST /auth/change-password": w.changePassword,
		"POST /auth/forgot-password": w.forgotPassword,
		"POST /auth/reset-password":  w.resetPassword,
		"DELETE /auth/sessions/{id}": w.revokeSession,

		"POST /auth/device/code":    w.startDevice,
		"POST /auth/device/token":   w.collectDevice,
		"POST /auth/device/approve": w.approveDevice,
		"POST /auth/device/deny":    w.denyDevice,

		"POST /organization":                                w.createOrganization,
		"POST /demo":                                        w.makeDemo,
		"PATCH /organization/{orgId}":                       w.renameOrganization,
		"DELETE /organization/{orgId}":                      w.closeOrganization,
		"PATCH /organization/{orgId}/members/{userId}/role": w.changeRole,
		"DELETE /organization/{orgId}/members/{userId}":     w.removeMember,
		"POST /organization/{orgId}/members/invite":         w.invite,
		"DELETE /organization/{orgId}/invites/{id}":         w.withdrawInvite,
		"POST /organization/invites/accept":                 w.acceptInvite,
		"POST /organization/invites/look":                   w.lookAtInvite,

		"POST /api-keys":             w.createKey,
		"POST /api-keys/provision":   w.provisionKey,
		"POST /api-keys/{id}/revoke": w.revokeKey,
		"POST /api-keys/{id}/rotate": w.rotateKey,
		"POST /iap/sdk/switch-org":   w.switchOrganization,

		"POST /iap/audit":                       w.reportExecution,
		"POST /iap/audit/batch":                 w.reportExecutions,
		"POST /audit-log/entries/{index}/erase": w.erasePayload,

		"POST /observability/spans":   w.ingestTrace,
		"POST /dashboard/token-usage": w.reportUsage,
		"POST /v1/traces":             w.exportSpan,

		"POST /policies":                                        w.createPolicy,
		"PUT /policies/{policyId}":                              w.updatePolicy,
		"PATCH /policies/{policyId}":                            w.patchPolicy,
		"DELETE /policies/{policyId}":                           w.deletePolicy,
		"POST /policies/draft":                                  w.draftFromWords,
		"POST /policies/validate":                               w.validatePolicy,
		"POST /policies/yaml/import":                            w.importPolicy,
		"POST /policies/{policyId}/activate":                    w.activatePolicy,
		"POST /policies/{policyId}/deactivate":                  w.deactivatePolicy,
		"POST /policies/{policyId}/shadow":                      w.startShadow,
		"DELETE /policies/{policyId}/shadow":                    w.endShadow,
		"POST /policies/{policyId}/rollback":                    w.rollbackPolicy,
		"PUT /policies/{policyId}/bindings":                     w.putBindings,
		"POST /policies/{policyId}/bindings":                    w.addBindings,
		"DELETE /policies/{policyId}/bindings/{kind}/{subject}": w.removeBinding,
		"POST /policies/check-access":                           w.checkAccess,
		"POST /policies/simulate":                               w.simulatePolicy,
		"POST /policies/test":                                   w.testPolicy,
		"POST /policies/suggest":                                w.suggestPolicy,

		"PUT /policies/profiles/draft":             w.stageProfile,
		"POST /policies/profiles/propose":          w.proposeProfile,
		"POST /policies/profiles/confirm":          w.confirmProfile,
		"DELETE /policies/profiles/proposals/{id}": w.withdrawProposal,

		"POST /policy-replays":                   w.startReplay,
		"POST /policy-replays/{replayId}/cancel": w.cancelReplay,

		"POST /iap/sdk/token":                   w.declarePlan,
		"POST /iap/plans/{planId}/status":       w.endPlan,
		"POST /iap/sdk/enforce":                 w.enforceSDK,
		"POST /iap/enforce":                     w.enforcePlugin,
		"POST /iap/verify-step":                 w.verifyStep,
		"POST /invoke":                          w.invoke,
		"POST /intent":                          w.bindPolicy,
		"POST /verify/action":                   w.verifyAction,
		"POST /iap/sdk/bootstrap":               w.bootstrap,
		"POST /iap/sdk/resolve-user":            w.resolveUser,
		"POST /iap/sdk/register":                w.registerManifest,
		"POST /iap/sdk/preflight":               w.preflight,
		"PUT /organization/{orgId}/enforcement": w.changeSettings,

		"PUT /organization/{orgId}/tool-classes": w.changeClasses,
		"POST /iap/sdk/prompt":                   w.statePrompt,

		"POST /iap/trust/delegate": w.delegate("/iap/trust/delegate"),
		"POST /delegation/create":  w.delegate("/delegation/create"),
		"POST /iap/trust/reanchor": w.reanchorPlan,
		"POST /iap/trust/revoke":   w.revokePlan,

		"POST /iap/session/open":     w.openSession,
		"POST /iap/session/turn":     w.openTurn,
		"POST /iap/session/ticket":   w.giveTicket,
		"POST /iap/session/state":    w.sessionState,
		"POST /iap/session/plan/end": w.endSessionPlan,
		"POST /iap/session/end":      w.endSession,

		"POST /notifications/{id}/read":                                           w.readNotification,
		"POST /notifications/read-all":                                            w.readAll,
		"PUT /notifications/preferences":                                          w.changePreferences,
		"POST /organization/{orgId}/webhooks":                                     w.createWebhook,
		"PATCH /organization/{orgId}/webhooks/{id}":                               w.updateWebhook,
		"DELETE /organization/{orgId}/webhooks/{id}":                              w.deleteWebhook,
		"POST /organization/{orgId}/webhooks/{id}/secret":                         w.renewSecret,
		"POST /organization/{orgId}/webhooks/{id}/test":                           w.testWebhook,
		"POST /organization/{orgId}/webhooks/{id}/deliveries/{deliveryId}/replay": w.replayDelivery,

		"POST /delegation/request":       w.requestApproval,
		"GET /delegation/check-approved": w.checkApproved,
		"POST /delegation/mark-executed": w.markExecuted,
		"POST /delegation/cancel":        w.cancelApproval,
		"POST /delegation/approve":       w.approveCall,
		"POST /delegation/reject":        w.rejectCall,
		"POST /delegation/preview":       w.previewApproval,
		"DELETE /delegation/allows/{id}": w.revokeAllow,
		"PUT /delegation/settings":       w.changeApprovalSettings,
	}
}

// inLog is a change that is recorded in a log known before.
func inLog(log string, do func(context.Context) error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) { return log, do(ctx) }
}

// registered is the address of an account that waits for its code.
func (w *changes) registered() string {
	w.T.Helper()
	address := testserver.FreshAddress()
	if err := w.Public.Register(w.T.Context(), client.Registration{
		Email: address, Password: testserver.Password,
	}); err != nil {
		w.T.Fatalf("register: %v", err)
	}
	w.Mails(address, 1)
	return address
}

func (w *changes) register() func(context.Context) (string, error) {
	address := testserver.FreshAddress()
	return inLog(audit.System, func(ctx context.Context) error {
		err := w.Public.Register(ctx, client.Registration{Email: address, Password: testserver.Password})
		return err
	})
}

func (w *changes) verifyOTP() func(context.Context) (string, error) {
	address := w.registered()
	return inLog(audit.System, func(ctx context.Context) error {
		return w.Public.VerifyOTP(ctx, address, w.CodeFor(address), testserver.Password)
	})
}

func (w *changes) resendOTP() func(context.Context) (string, error) {
	address := w.registered()
	return inLog(audit.System, func(ctx context.Context) error { return w.Public.ResendOTP(ctx, address) })
}

func (w *changes) login() func(context.Context) (string, error) {
	return inLog(audit.System, func(ctx context.Context) error {
		_, err := w.Public.Login(ctx, w.owner.Email, testserver.Password)
		return err
	})
}

func (w *changes) refresh() func(context.Context) (string, error) {
	token := w.SignIn(w.owner.Email).Tokens.RefreshToken
	return inLog(audit.System, func(ctx context.Context) error {
		_, err := w.Public.Refresh(ctx, token)
		return err
	})
}

func (w *changes) logout() func(context.Context) (string, error) {
	return inLog(audit.System, w.SignIn(w.owner.Email).Logout)
}

func (w *changes) changePassword() func(context.Context) (string, error) {
	p := w.Person("changer")
	return inLog(audit.System, func(ctx context.Context) error {
		return p.ChangePassword(ctx, testserver.Password, "another password")
	})
}

func (w *changes) forgotPassword() func(context.Context) (string, error) {
	return inLog(audit.System, func(ctx context.Context) error { return w.Public.ForgotPassword(ctx, w.owner.Email) })
}

func (w *changes) resetPassword() func(context.Context) (string, error) {
	p := w.Person("forgetful")
	if err := w.Public.ForgotPassword(w.T.Context(), p.Email); err != nil {
		w.T.Fatalf("forget a password: %v", err)
	}
	token := w.TokenFor(p.Email)
	return inLog(audit.System, func(ctx context.Context) error {
		return w.Public.ResetPassword(ctx, token, "another password")
	})
}

func (w *changes) revokeSession() func(context.Context) (string, error) {
	other, err := w.SignIn(w.owner.Email).Me(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	return inLog(audit.System, func(ctx context.Context) error { return w.owner.RevokeSession(ctx, other.SessionID) })
}

func (w *changes) createOrganization() func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		created, err := w.owner.CreateOrganization(ctx, "New")
		return created.ID, err
	}
}

func (w *changes) makeDemo() func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		made, err := w.owner.MakeDemo(ctx)
		return made.ID, err
	}
}

func (w *changes) renameOrganization() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.RenameOrganization(ctx, w.org, "Renamed")
		return err
	})
}

func (w *changes) closeOrganization() func(context.Context) (string, error) {
	org := w.Organization(w.owner, "Closing")
	w.OpenInvite(org, "member")
	return inLog(org, func(ctx context.Context) error { return w.owner.CloseOrganization(ctx, org) })
}

func (w *changes) changeRole() func(context.Context) (string, error) {
	member := w.BareMember(w.org, "member")
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.ChangeRole(ctx, w.org, member, "viewer")
		return err
	})
}

func (w *changes) removeMember() func(context.Context) (string, error) {
	member := w.BareMember(w.org, "member")
	return inLog(w.org, func(ctx context.Context) error { return w.owner.RemoveMember(ctx, w.org, member) })
}

func (w *changes) invite() func(context.Context) (string, error) {
	address := testserver.FreshAddress()
	if _, err := w.owner.Invite(w.T.Context(), w.org, address, "viewer"); err != nil { // the second withdraws it
		w.T.Fatal(err)
	}
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.Invite(ctx, w.org, address, "member")
		return err
	})
}

func (w *changes) withdrawInvite() func(context.Context) (string, error) {
	id := w.OpenInvite(w.org, "member")
	return inLog(w.org, func(ctx context.Context) error { return w.owner.WithdrawInvite(ctx, w.org, id) })
}

func (w *changes) acceptInvite() func(context.Context) (string, error) {
	guest, token := w.invited()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := guest.AcceptInvite(ctx, token)
		return err
	})
}

func (w *changes) lookAtInvite() func(context.Context) (string, error) {
	guest, token := w.invited()
	return inLog("", func(ctx context.Context) error {
		_, err := guest.LookAtInvite(ctx, token)
		return err
	})
}

// invited is a person who has an open invitation, and its token.
func (w *changes) invited() (guest *testserver.Person, token string) {
	guest = w.Person("guest")
	if _, err := w.owner.Invite(w.T.Context(), w.org, guest.Email, "member"); err != nil {
		w.T.Fatal(err)
	}
	return guest, w.TokenFor(guest.Email)
}

func (w *changes) createKey() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.CreateKey(ctx, client.NewKey{Name: "new", OrganizationID: w.org})
		return err
	})
}

func (w *changes) provisionKey() func(context.Context) (string, error) {
	terminal := w.TerminalKey(w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := terminal.ProvisionKey(ctx, client.NewKey{Product: "new"})
		return err
	})
}

func (w *changes) revokeKey() func(context.Context) (string, error) {
	id := w.KeyFor(w.owner.ID, w.org).ID
	return inLog(w.org, func(ctx context.Context) error { return w.owner.RevokeKey(ctx, id) })
}

func (w *changes) rotateKey() func(context.Context) (string, error) {
	id := w.KeyFor(w.owner.ID, "").ID // bound to no organization: in the system's log
	return inLog(audit.System, func(ctx context.Context) error {
		_, err := w.owner.RotateKey(ctx, id)
		return err
	})
}

func (w *changes) switchOrganization() func(context.Context) (string, error) {
	terminal, target := w.TerminalKey(w.owner, w.org), w.Organization(w.owner, "Target")
	return inLog(target, func(ctx context.Context) error {
		_, err := terminal.SwitchOrganization(ctx, target, "")
		return err
	})
}

// ingestTrace changes nobody's rights, and is not in the log.
func (w *changes) ingestTrace() func(context.Context) (string, error) {
	agent := w.Public.WithKey(w.KeyFor(w.owner.ID, w.org).Secret.Reveal())
	batch := fmt.Sprintf(`{"trace":{"id":%q,"name":"t","startTime":"2030-01-01T00:00:00Z","status":"ok"}}`,
		database.NewID())
	return inLog("", func(ctx context.Context) error {
		got, err := agent.Ingest(ctx, client.Spans{Product: "p", Batches: []json.RawMessage{json.RawMessage(batch)}})
		if err == nil && got.Accepted != 1 {
			err = fmt.Errorf("not accepted: %+v", got)
		}
		return err
	})
}

// exportSpan neither.
func (w *changes) exportSpan() func(context.Context) (string, error) {
	agent := w.Public.WithKey(w.KeyFor(w.owner.ID, w.org).Secret.Reveal())
	id := strings.ReplaceAll(database.NewID(), "-", "")
	body := json.RawMessage(testserver.OTLPJSON(fmt.Sprintf(`{"traceId":%q,"spanId":%q,"name":"t","startTimeUnixNano":1}`, id,
		id[16:])))
	return inLog("", func(ctx context.Context) error {
		return agent.Call(ctx, http.MethodPost, "/v1/traces", nil, body, nil)
	})
}

// reportUsage neither.
func (w *changes) reportUsage() func(context.Context) (string, error) {
	agent := w.Public.WithKey(w.KeyFor(w.owner.ID, w.org).Secret.Reveal())
	return inLog("", func(ctx context.Context) error {
		_, err := agent.ReportUsage(ctx, client.UsageReport{
			Product: "p", SessionID: database.NewID(), Entries: []client.ModelUsage{{Model: "m", InputTokens: 1}},
		})
		return err
	})
}
