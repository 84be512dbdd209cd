package scope

import (
	"context"
	"fmt"

	"writ/internal/audit"
	"writ/internal/database"
)

// Erase erases what is known from the entries at these positions of a log: the calls of decisions, the outputs of
// reports, and prompts. The calls stay as unknown ones.
func Erase(ctx context.Context, tx *database.Tx, log string, positions []int64) error {
	for _, position := range positions {
		scopes, err := database.Collect(ctx, tx, database.Column[string], `
			SELECT scope_id FROM known_output WHERE org_id = $1 AND (decided = $2 OR reported = $2)
			UNION
			SELECT p.scope_id FROM known_prompt p JOIN known_scope s ON s.id = p.scope_id WHERE s.org_id = $1 AND p.position = $2`,
			log, position)
		if err != nil {
			return fmt.Errorf("find what is known from an entry: %w", err)
		}
		if len(scopes) == 0 {
			continue
		}
		if err := eraseAt(ctx, tx, log, position); err != nil {
			return err
		}
		for _, id := range scopes {
			if err := raise(ctx, tx, log, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func eraseAt(ctx context.Context, tx *database.Tx, orgID string, position int64) error {
	_, err := tx.Exec(ctx, `
		UPDATE known_output
		SET state = 2, size = 0, sealed_output = $3
		WHERE org_id = $1 AND (decided = $2 OR reported = $2)`, orgID, position, []byte{})
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE known_output SET sealed_call = $3 WHERE org_id = $1 AND decided = $2`, orgID,
			position,
			[]byte{})
	}
	if err == nil {
		_, err = tx.Exec(ctx, `
			DELETE FROM known_prompt
			WHERE position = $2 AND scope_id IN (SELECT id FROM known_scope WHERE org_id = $1)`, orgID, position)
	}
	return database.Wrap(err, "erase what is known from an entry")
}

// pruneSlice is how many scopes one change prunes.
const pruneSlice = 100

// Prune forgets what is known of scopes that nobody used for a day, and the scopes after a month. A scope without its
// outputs counts as one whose outputs were dropped.
func (s *Service) Prune(ctx context.Context) error {
	now := s.db.Now()
	type idle struct{ id, orgID string }
	for {
		scopes, err := database.Collect(ctx, s.db, func(r database.Scanner) (i idle, err error) {
			err = r.Scan(&i.id, &i.orgID)
			return i, err
		}, `
			SELECT s.id, s.org_id
			FROM known_scope s
			WHERE s.used_at < $1
				AND (EXISTS (SELECT 1 FROM known_output o WHERE o.scope_id = s.id)
					OR EXISTS (SELECT 1 FROM known_prompt p WHERE p.scope_id = s.id))
			LIMIT $2`, database.Micros(now.Add(-keepOutputs)), pruneSlice)
		if err != nil || len(scopes) == 0 {
			return errorOr(err, func() error { return s.pruneScopes(ctx) })
		}
		for _, i := range scopes {
			err := s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(i.orgID)}, Do: func(
				ctx context.Context, tx *database.Tx,
			) error {
				return forget(ctx, tx, i.id, database.Micros(now.Add(-keepOutputs)))
			}})
			if err != nil {
				return err
			}
		}
	}
}

func errorOr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// forget deletes the outputs and prompts of a scope that nobody used meanwhile.
func forget(ctx context.Context, tx *database.Tx, id string, before int64) error {
	idle, err := tx.Exec(ctx, `
		UPDATE known_scope
		SET dropped = 1, revision = revision + 1, rewritten = revision + 1, prompt_bytes = 0
		WHERE id = $1 AND used_at < $2`, id, before)
	if err != nil || idle == 0 {
		return database.Wrap(err, "forget what is known of a session")
	}
	if _, err = tx.Exec(ctx, `DELETE FROM known_output WHERE scope_id = $1`, id); err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM known_prompt WHERE scope_id = $1`, id)
	}
	return database.Wrap(err, "forget what is known of a session")
}

// pruneScopes deletes scopes that no live plan can belong to any more.
func (s *Service) pruneScopes(ctx context.Context) error {
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM known_scope WHERE used_at < $1`, database.Micros(tx.Now().Add(-keepScopes)))
		return database.Wrap(err, "forget old sessions")
	}})
}
