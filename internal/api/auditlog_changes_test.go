package api_test

import (
	"context"
	"encoding/json"
	"slices"

	"writ/internal/audit"
)

func (w *changes) reportExecution() func(context.Context) (string, error) {
	agent := w.Public.WithKey(w.KeyFor(w.owner.ID, w.org).Secret.Reveal())
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.ReportExecution(ctx, map[string]any{"tool": "Bash", "status": "success"})
		return err
	})
}

func (w *changes) reportExecutions() func(context.Context) (string, error) {
	agent := w.Public.WithKey(w.KeyFor(w.owner.ID, w.org).Secret.Reveal())
	return inLog(w.org, func(ctx context.Context) error {
		_, err := agent.ReportExecutions(ctx, json.RawMessage(`{"tool":"Bash"}`), json.RawMessage(`{"tool":"Read"}`))
		return err
	})
}

func (w *changes) erasePayload() func(context.Context) (string, error) {
	w.KeyFor(w.owner.ID, w.org) // which leaves an entry with a payload
	entries, err := audit.ReadEntries(w.T.Context(), w.Database, w.org, 0, 1000)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, e := range slices.Backward(entries) {
		if e.Payload != "" {
			return inLog(w.org, func(ctx context.Context) error {
				return w.owner.ErasePayload(ctx, w.org, e.Index, "wanted")
			})
		}
	}
	w.T.Fatal("no entry has a payload")
	return nil
}
