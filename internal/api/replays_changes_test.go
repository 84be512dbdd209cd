package api_test

import (
	"context"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

func (w *changes) startReplay() func(context.Context) (string, error) {
	org := w.Organization(w.owner, "Replayed")
	return inLog("", func(ctx context.Context) error {
		return second(w.owner.StartReplay(ctx, org, client.NewReplay{YAML: testserver.PolicyText("x", "deny")}))
	})
}

func (w *changes) cancelReplay() func(context.Context) (string, error) {
	org := w.Organization(w.owner, "Cancelled")
	id := w.HeldReplay(org, 1, time.Hour)
	return inLog("", func(ctx context.Context) error { return second(w.owner.CancelReplay(ctx, org, id)) })
}
