package api_test

import (
	"context"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// newDraft is a policy of a name that nobody has.
func (w *changes) newDraft() (id, name string) {
	w.T.Helper()
	name = database.NewID()
	return w.Draft(w.owner, w.org, name), name
}

func (w *changes) createPolicy() func(context.Context) (string, error) {
	name := database.NewID()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.CreatePolicy(ctx, w.org, client.YAMLDocument, testserver.PolicyText(name, "deny"))
		return err
	})
}

func (w *changes) updatePolicy() func(context.Context) (string, error) {
	id, name := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.UpdatePolicy(ctx, id, client.YAMLDocument, testserver.PolicyText(name, "hold"), 1)
		return err
	})
}

func (w *changes) patchPolicy() func(context.Context) (string, error) {
	id, name := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.PatchPolicy(ctx, id, client.YAMLDocument, testserver.PolicyText(name, "hold"), 1)
		return err
	})
}

func (w *changes) deletePolicy() func(context.Context) (string, error) {
	id, _ := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error { return w.owner.DeletePolicy(ctx, id) })
}

func (w *changes) validatePolicy() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.ValidatePolicy(ctx, w.org, client.YAMLDocument, testserver.PolicyText("x", "deny"))
		return err
	})
}

func (w *changes) importPolicy() func(context.Context) (string, error) {
	name := database.NewID()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.ImportPolicy(ctx, w.org, client.YAMLDocument, testserver.PolicyText(name, "deny"))
		return err
	})
}

func (w *changes) activatePolicy() func(context.Context) (string, error) {
	id, _ := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.ActivatePolicy(ctx, id, 1)
		return err
	})
}

func (w *changes) deactivatePolicy() func(context.Context) (string, error) {
	id := w.ActivePolicy(w.owner, w.org, testserver.PolicyText(database.NewID(), "deny"))
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.DeactivatePolicy(ctx, id)
		return err
	})
}

func (w *changes) startShadow() func(context.Context) (string, error) {
	id, _ := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.StartShadow(ctx, id, 1)
		return err
	})
}

func (w *changes) endShadow() func(context.Context) (string, error) {
	id, _ := w.newDraft()
	if _, err := w.owner.StartShadow(w.T.Context(), id, 1); err != nil {
		w.T.Fatalf("start a shadow: %v", err)
	}
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.EndShadow(ctx, id)
		return err
	})
}

func (w *changes) rollbackPolicy() func(context.Context) (string, error) {
	id := w.ActivePolicy(w.owner, w.org, testserver.PolicyText(database.NewID(), "deny"))
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.RollbackPolicy(ctx, id, 1)
		return err
	})
}

func (w *changes) putBindings() func(context.Context) (string, error) {
	id, _ := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.SetBindings(ctx, id, client.Bindings{
			Members: []string{w.owner.ID}, Clients: []string{"bot"}, Roles: []string{"viewer"},
		})
		return err
	})
}

func (w *changes) addBindings() func(context.Context) (string, error) {
	id, _ := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.Bind(ctx, id, client.Bindings{Roles: []string{"viewer"}})
		return err
	})
}

func (w *changes) removeBinding() func(context.Context) (string, error) {
	id, _ := w.newDraft()
	if _, err := w.owner.SetBindings(w.T.Context(), id, client.Bindings{
		Roles: []string{"viewer", "member"},
	}); err != nil {
		w.T.Fatal(err)
	}
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.Unbind(ctx, id, "roles", "viewer")
		return err
	})
}

// checkAccess and simulatePolicy change nothing, and are not in the log.
func (w *changes) checkAccess() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.CheckAccess(ctx, w.org, client.ToolCall{Server: "bank", Tool: "send_money"})
		return err
	})
}

func (w *changes) simulatePolicy() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.SimulatePolicy(ctx, w.org, client.Simulation{
			YAML: testserver.PolicyText("x", "deny"), Call: client.ToolCall{Tool: "t"},
		})
		return err
	})
}

func (w *changes) testPolicy() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.TestPolicy(ctx, w.org, client.PolicyTests{
			YAML:  testserver.PolicyText("x", "deny"),
			Tests: "policy: p.yaml\ntests:\n  - {name: t, call: {server: bank, tool: t}, want: {decision: deny}}\n",
		})
		return err
	})
}

func (w *changes) draftFromWords() func(context.Context) (string, error) {
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.DraftPolicy(ctx, w.org, client.DraftRequest{
			Description: "pay people", Name: database.NewID(),
		})
		return err
	})
}

func (w *changes) suggestPolicy() func(context.Context) (string, error) {
	b := &testserver.Org{Server: w.Server, Owner: w.owner, ID: w.Organization(w.owner, "Suggests")}
	b.ActivePolicy(b.Owner, b.ID, testserver.WorkPolicy)
	b.Work(b.AgentKey(b.Owner, b.ID).APIKey)
	return inLog(b.ID, func(ctx context.Context) error {
		return second(b.Owner.SuggestPolicy(ctx, b.ID, client.SuggestionRequest{AgentID: "worker", Days: 1}))
	})
}
