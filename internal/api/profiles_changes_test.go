package api_test

import (
	"context"
	"encoding/json"

	"writ/internal/testserver"
)

func (w *changes) stageProfile() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		_, err := w.owner.StageProfile(ctx, w.org, json.RawMessage(testserver.Profile("staged", "Bash")))
		return err
	})
}

func (w *changes) proposeProfile() func(context.Context) (string, error) {
	by := w.Join(w.owner, w.org, "member")
	if _, err := by.StageProfile(w.T.Context(), w.org,
		json.RawMessage(testserver.Profile("proposed", "Bash"))); err != nil {
		w.T.Fatal(err)
	}
	return inLog(w.org, func(ctx context.Context) error {
		_, err := by.ProposeProfile(ctx, w.org, "because")
		return err
	})
}

func (w *changes) confirmProfile() func(context.Context) (string, error) {
	proposal := w.Proposed(w.Join(w.owner, w.org, "member").Client, w.org, testserver.Profile("confirmed", "Bash"))
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.owner.ConfirmProfile(ctx, w.org, proposal.ID, proposal.Hash)
		return err
	})
}

func (w *changes) withdrawProposal() func(context.Context) (string, error) {
	proposal := w.Proposed(w.Join(w.owner, w.org, "member").Client, w.org, testserver.Profile("withdrawn", "Bash"))
	return inLog(w.org, func(ctx context.Context) error { return w.owner.WithdrawProposal(ctx, w.org, proposal.ID) })
}
