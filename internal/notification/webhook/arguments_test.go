package webhook_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
)

// TestArgumentsStayOnceTheyAreTurnedOff: what waits when a webhook stops to send
// arguments, and what is replayed later, goes out without them, and nothing is lost.
func TestArgumentsStayOnceTheyAreTurnedOff(t *testing.T) {
	t.Parallel()
	for _, kind := range []webhook.Kind{webhook.Generic, webhook.Slack, webhook.Teams} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				hook := e.create(webhook.New{Kind: kind, SendArguments: true})
				e.happen(notice.Opened, 1)
				e.deliver()
				e.target.set(true, 0)
				e.happen(notice.Opened, 1)
				e.deliver()
				off := false
				if _, err := e.hooks.Update(t.Context(), e.admin, hook.ID, webhook.Change{
					SendArguments: &off,
				}); err != nil {
					t.Fatal(err)
				}
				sent := e.deliveries(hook.ID, webhook.Delivered)
				if len(sent) != 1 || len(e.target.got) != 1 ||
					!strings.Contains(string(e.target.got[0].Body), "amount") {
					t.Fatalf("before: %+v", sent)
				}
				if _, err := e.hooks.Replay(t.Context(), e.admin, hook.ID, sent[0].ID); err != nil {
					t.Fatal(err)
				}
				e.target.set(false, 0)
				e.Pass(time.Hour)
				e.deliver()
				if len(e.target.got) != 3 {
					t.Fatalf("%d arrived", len(e.target.got))
				}
				for _, r := range e.target.got[1:] {
					if body := string(r.Body); strings.Contains(body, "amount") ||
						!strings.Contains(body, "waits for an approval") || !strings.Contains(body, "/ui/approvals/") {
						t.Errorf("sent: %s", body)
					}
				}
			})
		})
	}
}
