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
			each(t, func(t *testing.T, w *world) {
				hook := w.create(webhook.New{Kind: kind, SendArguments: true})
				w.happen(notice.Opened, 1)
				w.deliver()
				w.target.set(true, 0)
				w.happen(notice.Opened, 1)
				w.deliver()
				off := false
				if _, err := w.hooks.Update(t.Context(), w.admin, hook.ID, webhook.Change{
					SendArguments: &off,
				}); err != nil {
					t.Fatal(err)
				}
				sent := w.deliveries(hook.ID, webhook.Delivered)
				if len(sent) != 1 || len(w.target.got) != 1 ||
					!strings.Contains(string(w.target.got[0].Body), "amount") {
					t.Fatalf("before: %+v", sent)
				}
				if _, err := w.hooks.Replay(t.Context(), w.admin, hook.ID, sent[0].ID); err != nil {
					t.Fatal(err)
				}
				w.target.set(false, 0)
				w.advance(time.Hour)
				w.deliver()
				if len(w.target.got) != 3 {
					t.Fatalf("%d arrived", len(w.target.got))
				}
				for _, r := range w.target.got[1:] {
					if body := string(r.Body); strings.Contains(body, "amount") ||
						!strings.Contains(body, "waits for an approval") || !strings.Contains(body, "/ui/approvals/") {
						t.Errorf("sent: %s", body)
					}
				}
			})
		})
	}
}
