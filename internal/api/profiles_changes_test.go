package api_test

import (
	"context"
	"encoding/json"
	"fmt"

	"writ/client"
)

// proposed stages a profile and proposes it.
func (s *server) proposed(by *client.Client, orgID, profile string) client.Proposal {
	s.t.Helper()
	if _, err := by.StageProfile(s.t.Context(), orgID, json.RawMessage(profile)); err != nil {
		s.t.Fatalf("stage a profile: %v", err)
	}
	proposal, err := by.ProposeProfile(s.t.Context(), orgID, "for a test")
	if err != nil {
		s.t.Fatalf("propose a profile: %v", err)
	}
	return proposal
}

// profileOf is a profile whose one statement forbids a tool.
func profileOf(name, tool string) string {
	return fmt.Sprintf(`{"schemaVersion":"armor.policy.v1","kind":"PolicyProfile","metadata":{"name":%q,"description":""},"defaults":{"decision":"allow","conflictResolution":"deny_overrides"},`+
		`"statements":[{"id":"s","effect":"forbid","principal":{"type":"agent","id":"*"},"action":{"type":"tool","eq":%q},"resource":{"type":"workspace","scope":"current"},"conditions":[]}]}`, name, tool)
}

func (w *changes) stageProfile() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.StageProfile(ctx, w.org, json.RawMessage(profileOf("staged", "Bash")))
		return err
	})
}

func (w *changes) proposeProfile() func(context.Context) (string, error) {
	by := w.join(w.owner, w.org, "member")
	if _, err := by.StageProfile(w.t.Context(), w.org, json.RawMessage(profileOf("proposed", "Bash"))); err != nil {
		w.t.Fatal(err)
	}
	return inLog(w.org, func(ctx context.Context) error {
		_, err := by.ProposeProfile(ctx, w.org, "because")
		return err
	})
}

func (w *changes) confirmProfile() func(context.Context) (string, error) {
	proposal := w.proposed(w.join(w.owner, w.org, "member").Client, w.org, profileOf("confirmed", "Bash"))
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.ConfirmProfile(ctx, w.org, proposal.ID, proposal.Hash)
		return err
	})
}

func (w *changes) withdrawProposal() func(context.Context) (string, error) {
	proposal := w.proposed(w.join(w.owner, w.org, "member").Client, w.org, profileOf("withdrawn", "Bash"))
	return inLog(w.org, func(ctx context.Context) error { return w.owner.WithdrawProposal(ctx, w.org, proposal.ID) })
}
