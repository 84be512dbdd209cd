package api_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
	"writ/internal/throttle"
)

// someWebhook is one that nothing is sent to: it is disabled, and told of nothing
// that happens here.
func someWebhook(s *testserver.Server, p *testserver.Person, orgID string) string {
	s.T.Helper()
	made, err := p.CreateWebhook(s.T.Context(), orgID, client.NewWebhook{
		Name: "ops", Kind: "generic", URL: "https://hooks.example.org/secret-path", Events: []string{"approval.voted"},
	})
	if err == nil {
		_, err = p.UpdateWebhook(s.T.Context(), orgID, made.ID, map[string]any{"enabled": false})
	}
	if err != nil {
		s.T.Fatalf("make a webhook: %v", err)
	}
	return made.ID
}

// someNotification is one that a person has not read.
func someNotification(s *testserver.Server, userID, orgID string) string {
	s.T.Helper()
	id := database.NewID()
	s.Insert(`INSERT INTO notification (id, org_id, user_id, cause, kind, subject_id, title, risk, created_at)
		VALUES ($1, $2, $3, $1, 'approval.opened', 'r', 'bank.pay waits for an approval', 'low', $4)`, id, orgID,
		userID, database.Micros(s.Database.Now()))
	return id
}

// tellTenant gives a tenant a webhook with a delivery, and its owner a notification.
func tellTenant(s *testserver.Server, w *tenant) map[string]map[string]string {
	s.T.Helper()
	hook := someWebhook(s, w.owner, w.org)
	delivery, told := s.DeadDelivery(w.org, hook), someNotification(s, w.owner.ID, w.org)
	w.private = append(w.private, hook, delivery, told)
	ids := map[string]map[string]string{
		"POST /notifications/{id}/read": {"id": told}, "POST /notification/{id}/read": {"id": told},
	}
	for _, route := range []string{"GET ", "PATCH ", "DELETE "} {
		ids[route+"/organization/{orgId}/webhooks/{id}"] = map[string]string{"id": hook}
	}
	for _, route := range []string{
		"POST /organization/{orgId}/webhooks/{id}/secret", "POST /organization/{orgId}/webhooks/{id}/test",
		"GET /organization/{orgId}/webhooks/{id}/deliveries",
	} {
		ids[route] = map[string]string{"id": hook}
	}
	ids["POST /organization/{orgId}/webhooks/{id}/deliveries/{deliveryId}/replay"] = map[string]string{
		"id": hook, "deliveryId": delivery,
	}
	return ids
}

func (w *changes) readNotification() func(context.Context) (string, error) {
	id := someNotification(w.Server, w.owner.ID, w.org)
	return inLog("", func(ctx context.Context) error { return w.owner.MarkRead(ctx, w.org, id) })
}

func (w *changes) readAll() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error { return second(w.owner.MarkAllRead(ctx, w.org)) })
}

func (w *changes) changePreferences() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		return second(w.owner.SetNotificationPreferences(ctx, w.org, client.NotificationPreferences{Mail: true}))
	})
}

func (w *changes) createWebhook() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		return second(w.owner.CreateWebhook(ctx, w.org, client.NewWebhook{
			Name: "new", Kind: "slack", URL: "https://hooks.example.org/", Events: []string{"approval.voted"},
		}))
	})
}

func (w *changes) updateWebhook() func(context.Context) (string, error) {
	hook := someWebhook(w.Server, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		return second(w.owner.UpdateWebhook(ctx, w.org, hook, map[string]any{"name": "renamed"}))
	})
}

func (w *changes) deleteWebhook() func(context.Context) (string, error) {
	hook := someWebhook(w.Server, w.owner, w.org)
	w.DeadDelivery(w.org, hook)
	return inLog(w.org, func(ctx context.Context) error { return w.owner.DeleteWebhook(ctx, w.org, hook) })
}

func (w *changes) renewSecret() func(context.Context) (string, error) {
	hook := someWebhook(w.Server, w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		return second(w.owner.RenewWebhookSecret(ctx, w.org, hook))
	})
}

// testWebhook sends to an address that the server refuses to call.
func (w *changes) testWebhook() func(context.Context) (string, error) {
	hook := someWebhook(w.Server, w.owner, w.org)
	return inLog("", func(ctx context.Context) error {
		got, err := w.owner.TestWebhook(ctx, w.org, hook)
		if err == nil && got.Status != "dead" {
			err = fmt.Errorf("a test to nowhere arrived: %+v", got)
		}
		return err
	})
}

// replayDelivery is of a webhook that is enabled, and not sent to before long.
func (w *changes) replayDelivery() func(context.Context) (string, error) {
	hook := someWebhook(w.Server, w.owner, w.org)
	delivery := w.DeadDelivery(w.org, hook)
	if _, err := w.owner.UpdateWebhook(w.T.Context(), w.org, hook, map[string]any{"enabled": true}); err != nil {
		w.T.Fatal(err)
	}
	w.Insert(`UPDATE webhook SET retry_at = $2 WHERE id = $1`, hook, database.Micros(w.Database.Now().AddDate(1, 0, 0)))
	return inLog(w.org, func(ctx context.Context) error {
		return second(w.owner.ReplayDelivery(ctx, w.org, hook, delivery))
	})
}

// webhookCall is a call about a webhook of an organization.
type webhookCall func(ctx context.Context, org string, p *testserver.Person, hook string, s *testserver.Server) error

// webhookRoleCases: webhooks are for managers.
func webhookRoleCases() []roleCase {
	const path = "/organization/{orgId}/webhooks"
	about := func(route, what string, call webhookCall) roleCase {
		return roleCase{route, what, managers, http.StatusForbidden,
			func(ctx context.Context, s *testserver.Server, org string, p *testserver.Person) error {
				hook := bareWebhook(s, org)
				return call(ctx, org, p, hook, s)
			}}
	}
	return []roleCase{
		about("GET "+path, "list", func(
			ctx context.Context, org string, p *testserver.Person, _ string, _ *testserver.Server,
		) error {
			return second(p.Webhooks(ctx, org))
		}),
		about("POST "+path, "make", func(
			ctx context.Context, org string, p *testserver.Person, _ string, s *testserver.Server,
		) error {
			made, err := p.CreateWebhook(ctx, org, client.NewWebhook{
				Name: "n", Kind: "teams", URL: "https://hooks.example.org/",
			})
			if err == nil {
				err = p.DeleteWebhook(ctx, org, made.ID)
			}
			return err
		}),
		about("GET "+path+"/{id}", "read", func(
			ctx context.Context, org string, p *testserver.Person, hook string, _ *testserver.Server,
		) error {
			return second(p.Webhook(ctx, org, hook))
		}),
		about("PATCH "+path+"/{id}", "change", func(
			ctx context.Context, org string, p *testserver.Person, hook string, _ *testserver.Server,
		) error {
			return second(p.UpdateWebhook(ctx, org, hook, map[string]any{"name": "n"}))
		}),
		about("POST "+path+"/{id}/secret", "renew", func(
			ctx context.Context, org string, p *testserver.Person, hook string, _ *testserver.Server,
		) error {
			return second(p.RenewWebhookSecret(ctx, org, hook))
		}),
		about("POST "+path+"/{id}/test", "test", func(
			ctx context.Context, org string, p *testserver.Person, hook string, _ *testserver.Server,
		) error {
			return second(p.TestWebhook(ctx, org, hook))
		}),
		about("GET "+path+"/{id}/deliveries", "list deliveries", func(
			ctx context.Context, org string, p *testserver.Person, hook string, _ *testserver.Server,
		) error {
			return second(p.WebhookDeliveries(ctx, org, hook, "", client.List{}))
		}),
		about("POST "+path+"/{id}/deliveries/{deliveryId}/replay", "replay", func(
			ctx context.Context, org string, p *testserver.Person, hook string, s *testserver.Server,
		) error {
			err := second(p.ReplayDelivery(ctx, org, hook, s.DeadDelivery(org, hook)))
			if client.StatusOf(err) == http.StatusConflict { // it is disabled
				return nil
			}
			return err
		}),
		about("DELETE "+path+"/{id}", "delete", func(
			ctx context.Context, org string, p *testserver.Person, hook string, _ *testserver.Server,
		) error {
			return p.DeleteWebhook(ctx, org, hook)
		}),
	}
}

// bareWebhook is a disabled webhook that nobody made, in place of the one before.
func bareWebhook(s *testserver.Server, orgID string) string {
	s.T.Helper()
	id := database.NewID()
	s.Insert(`DELETE FROM webhook_delivery WHERE org_id = $1`, orgID)
	s.Insert(`DELETE FROM webhook WHERE org_id = $1`, orgID)
	s.Insert(`INSERT INTO webhook (id, org_id, name, kind, target, url, secret, events, send_arguments, created_at, created_by, updated_at, disabled_at,
			disabled_reason, disabled_told, next_number, retry_at, lease_holder, lease_until)
		VALUES ($1, $2, 'bare', 'generic', 'https://x/…', $3, $3, 'approval.opened', 0, 1, '', 1, 1, 'by the test', 1, 1, 0, '', 0)`, id, orgID, []byte("sealed"))
	return id
}

// TestTestsOfWebhooksAreThrottled counts a person's.
func TestTestsOfWebhooksAreThrottled(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Hooks")
		s.NextMinute()
		rule := testserver.Throttled{Rule: throttle.TestWebhook,
			Call: func(t *testing.T, c *client.Client, _ string) error {
				return second(c.TestWebhook(t.Context(), org, database.NewID()))
			}}
		testserver.WantThrottled(t, rule, owner.Client, "")
	})
}
