package api_test

import (
	"context"
	"fmt"

	"writ/client"
	"writ/internal/database"
)

// policyText is a policy of a name (as YAML writes it) with one rule for every
// tool of the bank.
func policyText(name, effect string) string {
	return fmt.Sprintf("version: v1\nname: %s\nrules:\n  - id: bank\n    effect: %s\n    tools: [\"bank.*\"]\n", name,
		effect)
}

// draft makes a policy that denies, and does not count.
func (s *server) draft(p *person, orgID, name string) (id string) {
	s.t.Helper()
	made, err := p.CreatePolicy(s.t.Context(), orgID, client.YAMLDocument, policyText(name, "deny"))
	if err != nil {
		s.t.Fatalf("create a policy: %v", err)
	}
	return made.ID
}

// activePolicy makes a policy that counts.
func (s *server) activePolicy(p *person, orgID, text string) (id string) {
	s.t.Helper()
	made, err := p.CreatePolicy(s.t.Context(), orgID, client.YAMLDocument, text)
	if err != nil {
		s.t.Fatalf("create a policy: %v", err)
	}
	if _, err := p.ActivatePolicy(s.t.Context(), made.ID, 0); err != nil {
		s.t.Fatalf("activate a policy: %v", err)
	}
	return made.ID
}

// draftKey is a key that writes drafts.
func (s *server) draftKey(p *person, orgID string) client.IssuedKey {
	s.t.Helper()
	key, err := p.CreateKey(s.t.Context(), client.NewKey{
		Name: "drafts", OrganizationID: orgID, Scopes: []string{"policy.draft"},
	})
	if err != nil {
		s.t.Fatalf("create a key: %v", err)
	}
	return key
}

// newDraft is a policy of a name that nobody has.
func (w *changes) newDraft() (id, name string) {
	w.t.Helper()
	name = database.NewID()
	return w.draft(w.owner, w.org, name), name
}

func (w *changes) createPolicy() func(context.Context) (string, error) {
	name := database.NewID()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.CreatePolicy(ctx, w.org, client.YAMLDocument, policyText(name, "deny"))
		return err
	})
}

func (w *changes) updatePolicy() func(context.Context) (string, error) {
	id, name := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.UpdatePolicy(ctx, id, client.YAMLDocument, policyText(name, "hold"), 1)
		return err
	})
}

func (w *changes) patchPolicy() func(context.Context) (string, error) {
	id, name := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.PatchPolicy(ctx, id, client.YAMLDocument, policyText(name, "hold"), 1)
		return err
	})
}

func (w *changes) deletePolicy() func(context.Context) (string, error) {
	id, _ := w.newDraft()
	return inLog(w.org, func(ctx context.Context) error { return w.owner.DeletePolicy(ctx, id) })
}

func (w *changes) validatePolicy() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.ValidatePolicy(ctx, w.org, client.YAMLDocument, policyText("x", "deny"))
		return err
	})
}

func (w *changes) importPolicy() func(context.Context) (string, error) {
	name := database.NewID()
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.ImportPolicy(ctx, w.org, client.YAMLDocument, policyText(name, "deny"))
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
	id := w.activePolicy(w.owner, w.org, policyText(database.NewID(), "deny"))
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
	if _, err := w.owner.StartShadow(w.t.Context(), id, 1); err != nil {
		w.t.Fatalf("start a shadow: %v", err)
	}
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.EndShadow(ctx, id)
		return err
	})
}

func (w *changes) rollbackPolicy() func(context.Context) (string, error) {
	id := w.activePolicy(w.owner, w.org, policyText(database.NewID(), "deny"))
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
	if _, err := w.owner.SetBindings(w.t.Context(), id, client.Bindings{
		Roles: []string{"viewer", "member"},
	}); err != nil {
		w.t.Fatal(err)
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
			YAML: policyText("x", "deny"), Call: client.ToolCall{Tool: "t"},
		})
		return err
	})
}
