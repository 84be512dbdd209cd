package execution

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
)

// stored is an execution as it is matched.
type stored struct {
	id, keyID, planID, sessionID, agentID, tool, status string
	position, executedAt                                int64
	digest                                              []byte
	seq                                                 sql.NullInt64
}

func readExecutions(ctx context.Context, r database.Reader, orgID string, from int64, limit int) ([]stored, error) {
	return database.Collect(ctx, r, func(row database.Scanner) (e stored, err error) {
		err = row.Scan(&e.id, &e.position, &e.executedAt, &e.keyID, &e.planID, &e.sessionID, &e.agentID, &e.tool, &e.digest, &e.status, &e.seq)
		return e, err
	}, `
		SELECT id, position, executed_at, key_id, plan_id, session_id, agent_id, tool, digest, status, seq
		FROM execution
		WHERE org_id = $1 AND position >= $2
		ORDER BY position
		LIMIT $3`, orgID, from, limit)
}

func insertAwaited(ctx context.Context, tx *database.Tx, orgID string, d Decision) error {
	digest := d.Digest
	if digest == nil {
		digest = []byte{}
	}
	_, err := tx.ExecOften(ctx, `
		INSERT INTO awaited_outcome (org_id, position, decision_id, decided_at, key_id, plan_id, session_id, agent_id, tool, wire_name, digest, overdue)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0)`,
		orgID, d.Position, d.ID, database.Micros(d.At), d.KeyID, d.PlanID, cut(d.SessionID, maxLabel), cut(d.AgentID, maxLabel), cut(d.Tool, maxLabel),
		cut(wireName(d.Server, d.Tool), maxLabel), digest)
	return err
}

// awaited is an allowed call that waits for its outcome.
type awaited struct {
	decisionID string // empty: none
	position   int64
	overdue    bool
}

// fits are what a call and a report may have in common beside key and tool, the
// most telling first.
var fits = []struct{ plan, digest bool }{{true, true}, {false, true}, {true, false}, {false, false}}

// takeAwaited takes the oldest call that fits an execution best. It was decided
// before: the log says so.
func takeAwaited(ctx context.Context, tx *database.Tx, orgID string, e stored) (found awaited, err error) {
	for _, fit := range fits {
		where, args := `org_id = $1 AND key_id = $2 AND (tool = $3 OR wire_name = $4)`, []any{orgID, e.keyID, e.tool, orNone(calledAs(e.tool))}
		if fit.plan {
			args = append(args, e.planID)
			where += fmt.Sprintf(` AND plan_id = $%d`, len(args))
		}
		if fit.digest {
			args = append(args, e.digest)
			where += fmt.Sprintf(` AND digest = $%d`, len(args))
		}
		err := tx.QueryRow(ctx, `
			SELECT decision_id, position, overdue <> 0
			FROM awaited_outcome
			WHERE `+where+`
			ORDER BY position
			LIMIT 1`, args...).Scan(&found.decisionID, &found.position, &found.overdue)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return awaited{}, fmt.Errorf("look for its decision: %w", err)
		}
		_, err = tx.Exec(ctx, `DELETE FROM awaited_outcome WHERE org_id = $1 AND position = $2`, orgID, found.position)
		return found, err
	}
	return awaited{}, nil
}

// orNone is a name that nothing has, for none.
func orNone(name string) string {
	if name == "" {
		return "_"
	}
	return name
}

// sweep has outcomes that took too long be findings, where the product reports
// any, and gives up those that will not come any more.
func (s *Service) sweep(ctx context.Context) error {
	for {
		late, err := readLate(ctx, s.db, s.db.Now())
		if err != nil {
			return fmt.Errorf("look for outcomes that did not come: %w", err)
		}
		if len(late) == 0 {
			return nil // without a commit for nothing
		}
		err = s.db.Write(ctx, database.Change{Logs: []string{"reconcile/sweep"}, Do: func(ctx context.Context, tx *database.Tx) error {
			late, err := readLate(ctx, tx, tx.Now()) // others may have been here
			if err != nil {
				return err
			}
			for _, l := range late {
				if err := s.overdue(ctx, tx, l); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			return fmt.Errorf("note outcomes that did not come: %w", err)
		}
	}
}

// late is a call whose outcome is due: for a finding, or to be given up.
type late struct {
	Finding
	found bool
}

func readLate(ctx context.Context, r database.Reader, now time.Time) ([]late, error) {
	return database.Collect(ctx, r, func(row database.Scanner) (l late, err error) {
		var at int64
		err = row.Scan(&l.OrgID, &l.Position, &l.DecisionID, &at, &l.KeyID, &l.PlanID, &l.SessionID, &l.AgentID, &l.Tool, &l.found)
		l.Kind, l.HappenedAt = WithoutOutcome, database.Time(at)
		return l, err
	}, `
		SELECT org_id, position, decision_id, decided_at, key_id, plan_id, session_id, agent_id, tool, overdue <> 0
		FROM awaited_outcome
		WHERE overdue = 0 AND decided_at <= $1 OR overdue = 1 AND decided_at <= $2
		ORDER BY decided_at
		LIMIT $3`, database.Micros(now.Add(-OutcomeWithin)), database.Micros(now.Add(-awaitFor)), reconcileSlice)
}

// overdue makes a finding of one. What was found long ago, and what belongs to a
// product that never reports, is not awaited any more.
func (s *Service) overdue(ctx context.Context, tx *database.Tx, l late) error {
	reports := false
	if !l.found {
		name, err := s.reporterName(ctx, tx, l.KeyID)
		if err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT COUNT(*) > 0 FROM reporter WHERE org_id = $1 AND product = $2`, l.OrgID, name).Scan(&reports); err != nil {
			return err
		}
	}
	if !reports {
		_, err := tx.Exec(ctx, `DELETE FROM awaited_outcome WHERE org_id = $1 AND position = $2`, l.OrgID, l.Position)
		return err
	}
	if err := insertFinding(ctx, tx, l.Finding); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE awaited_outcome SET overdue = 1 WHERE org_id = $1 AND position = $2`, l.OrgID, l.Position)
	return err
}
