package intent

import (
	"context"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
)

// mintedAction is the audit action of a new plan, which is its subject.
const mintedAction = "plan.minted"

// EraseTexts erases the texts of the plans and preflights whose entries are at these positions of a log.
func EraseTexts(ctx context.Context, tx *database.Tx, log string, positions []int64) error {
	if err := erasePreflights(ctx, tx, log, positions); err != nil {
		return err
	}
	for _, position := range positions {
		entries, err := audit.ReadEntries(ctx, tx, log, position, 1)
		if err != nil {
			return err
		}
		if len(entries) != 1 || entries[0].Index != position ||
			!slices.Contains([]string{mintedAction, delegatedAction, reanchoredAction}, entries[0].Action) {
			continue
		}
		record, err := entries[0].Parse()
		if err != nil {
			return err
		}
		if err := eraseText(ctx, tx, log, record.Subject.ID); err != nil {
			return err
		}
	}
	return nil
}

// eraseText erases the text of a plan: the redacted copy at once, and the exact text
// unless the plan is live, because calls are still judged by it. The root and the
// binding stay, and authorize nothing.
func eraseText(ctx context.Context, tx *database.Tx, orgID, planID string) error {
	_, err := tx.Exec(ctx, `UPDATE plan SET goal = '' WHERE org_id = $1 AND id = $2`, orgID, planID)
	if err == nil {
		err = reindexWords(ctx, tx, orgID, planID)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `
			UPDATE plan_anchor
			SET shown = ''
			WHERE plan_id IN (SELECT id FROM plan WHERE org_id = $1 AND id = $2)`, orgID, planID)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `
			UPDATE plan_anchor
			SET sealed = $3
			WHERE plan_id IN (SELECT id FROM plan WHERE org_id = $1 AND id = $2 AND (status <> 'active' OR expires_at <= $4))`,
			orgID, planID, []byte{}, database.Micros(tx.Now()))
	}
	return database.Wrap(err, "erase the text of plan %s", planID)
}

// EraseEnded erases the exact texts of plans that were erased while they were live, and have ended since, however they
// ended.
func (s *Service) EraseEnded(ctx context.Context) error {
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE plan_anchor
			SET sealed = $1
			WHERE shown = '' AND plan_id IN (
				SELECT a.plan_id
				FROM plan_anchor a JOIN plan p ON p.id = a.plan_id
				WHERE a.shown = '' AND length(a.sealed) > 0 AND (p.status <> 'active' OR p.expires_at <= $2)
				LIMIT 10000)`, []byte{}, database.Micros(tx.Now()))
		return err
	}})
	return database.Wrap(err, "erase the texts of plans that ended")
}

func errErased() error { return fault.New(fault.NotFound, "the text of this plan was erased") }
