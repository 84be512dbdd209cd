package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/verdict"
)

const (
	// reconcileSlice is how many decisions, and executions, one change reads.
	reconcileSlice = 100
	// backfill is how many entries back decisions wait for an outcome when a product
	// reports for the first time.
	backfill = 300
	// OutcomeWithin is how long an outcome may take before it is a finding.
	OutcomeWithin = 15 * time.Minute
	// awaitFor is how late an outcome may be and still find its decision.
	awaitFor = 7 * 24 * time.Hour
)

// Reconcile matches what the logs say since its last run, in small changes. Every replica
// may run it; they take turns. A log that fails does not stop the others.
func (s *Service) Reconcile(ctx context.Context) error {
	heads, err := audit.ReadHeads(ctx, s.db)
	if err != nil {
		return err
	}
	done, err := s.positions(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, head := range heads {
		if head.Log == audit.System || done[head.Log] >= head.Size || ctx.Err() != nil {
			continue
		}
		for more := true; more; {
			if more, err = s.advance(ctx, head.Log, head.Size); err != nil {
				failed, more = append(failed, fmt.Errorf("reconcile %s: %w", head.Log, err)), false
			}
		}
	}
	return errors.Join(append(failed, s.sweep(ctx))...)
}

func (s *Service) positions(ctx context.Context) (map[string]int64, error) {
	positions := map[string]int64{}
	_, err := database.Collect(ctx, s.db, func(row database.Scanner) (none struct{}, err error) {
		var orgID string
		var position int64
		err = row.Scan(&orgID, &position)
		positions[orgID] = position
		return none, err
	}, `SELECT org_id, position FROM reconciled`)
	return positions, database.Wrap(err, "read how far logs were reconciled")
}

// advance matches the next slice of a log, and reports whether there is more before size.
func (s *Service) advance(ctx context.Context, orgID string, size int64) (more bool, err error) {
	// The name makes replicas take turns; nothing is appended to a log of that name.
	err = s.db.Write(ctx, database.Change{Logs: []string{"reconcile/" + orgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		at, err := positionIn(ctx, tx, orgID)
		if err != nil {
			return err
		}
		if more = at < size; !more {
			return nil
		}
		decisions, executions, until, err := s.next(ctx, tx, orgID, at, size)
		if err != nil {
			return err
		}
		if err := s.matcher(tx, orgID).match(ctx, decisions, executions); err != nil {
			return err
		}
		more = until < size
		_, err = tx.Prepared().Exec(ctx, `
			INSERT INTO reconciled (org_id, position)
			VALUES ($1, $2)
			ON CONFLICT (org_id) DO UPDATE SET position = excluded.position`, orgID, until)
		return err
	}})
	return more, err
}

func positionIn(ctx context.Context, tx *database.Tx, orgID string) (position int64, err error) {
	err = tx.Prepared().QueryRow(ctx, `SELECT position FROM reconciled WHERE org_id = $1`, orgID).Scan(&position)
	return position, database.OrMissing(err, nil, "read how far the log was reconciled")
}

// next reads decisions and executions from a position on, up to where both lists are
// complete.
func (s *Service) next(
	ctx context.Context, tx *database.Tx, orgID string, at, size int64,
) (decisions []decision.Record, executions []stored, until int64, err error) {
	if executions, err = readExecutions(ctx, tx.Prepared(), orgID, at, reconcileSlice); err != nil {
		return nil, nil, 0, fmt.Errorf("read executions: %w", err)
	}
	if quiet, err := noneReports(ctx, tx, orgID); err != nil || quiet && len(executions) == 0 {
		return nil, nil, size, err
	}
	if decisions, err = decision.Read(ctx, tx.Prepared(), orgID, at, reconcileSlice); err != nil {
		return nil, nil, 0, err
	}
	until = size
	if n := len(decisions); n == reconcileSlice {
		until = min(until, decisions[n-1].Index+1)
	}
	if n := len(executions); n == reconcileSlice {
		until = min(until, executions[n-1].position+1)
	}
	for len(decisions) > 0 && decisions[len(decisions)-1].Index >= until {
		decisions = decisions[:len(decisions)-1]
	}
	for len(executions) > 0 && executions[len(executions)-1].position >= until {
		executions = executions[:len(executions)-1]
	}
	return decisions, executions, until, nil
}

// noneReports reports whether no outcome is awaited in an organization: the first report
// takes up the decisions just before it.
func noneReports(ctx context.Context, tx *database.Tx, orgID string) (quiet bool, err error) {
	err = tx.Prepared().QueryRow(ctx, `SELECT COUNT(*) = 0 FROM reporter WHERE org_id = $1`, orgID).Scan(&quiet)
	return quiet, database.Wrap(err, "read the reporting keys")
}

// matcher is one change that matches a slice of a log. It caches lookups: a slice has few
// keys and many decisions.
type matcher struct {
	*Service
	tx      *database.Tx
	orgID   string
	reports map[string]bool // by reporter

	coming map[string]*stored // the executions of the slice that took their decisions themselves, by decision
	met    map[string]met     // the decisions of those, which need no row
}

func (s *Service) matcher(tx *database.Tx, orgID string) *matcher {
	return &matcher{
		Service: s,
		tx:      tx,
		orgID:   orgID,
		reports: map[string]bool{},
		met:     map[string]met{},
	}
}

// match goes through decisions and executions in the order of the log. Only keys that
// report have outcomes awaited: for the others it would be useless work.
func (m *matcher) match(ctx context.Context, decisions []decision.Record, executions []stored) error {
	m.coming = takers(executions)
	for len(decisions) > 0 || len(executions) > 0 {
		if len(executions) == 0 || len(decisions) > 0 && decisions[0].Index < executions[0].position {
			if err := m.await(ctx, &decisions[0]); err != nil {
				return fmt.Errorf("await the outcome of decision %s: %w", decisions[0].ID, err)
			}
			decisions = decisions[1:]
			continue
		}
		if err := m.settle(ctx, executions[0]); err != nil {
			return fmt.Errorf("match execution %s: %w", executions[0].id, err)
		}
		executions = executions[1:]
	}
	return nil
}

// await makes a decision wait for its outcome, if its key reports.
func (m *matcher) await(ctx context.Context, d *decision.Record) error {
	if d.Verdict != verdict.Allow {
		return nil
	}
	reporter := reporterOf(d.KeyID)
	reports, known := m.reports[reporter]
	if !known {
		var err error
		if reports, err = isReporter(ctx, m.tx, m.orgID, reporter); err != nil {
			return err
		}
		m.reports[reporter] = reports
	}
	if !reports {
		return nil
	}
	if e := m.coming[d.ID]; e != nil && e.keyID == d.KeyID && e.position > d.Index {
		return m.meet(d)
	}
	return insertAwaited(ctx, m.tx, m.orgID, d)
}

func isReporter(ctx context.Context, tx *database.Tx, orgID, reporter string) (reports bool, err error) {
	err = tx.Prepared().QueryRow(ctx, `SELECT COUNT(*) > 0 FROM reporter WHERE org_id = $1 AND product = $2`, orgID,
		reporter).Scan(&reports)
	return reports, err
}

// takeUp makes the decisions before a key's first report wait for their outcomes.
func (m *matcher) takeUp(ctx context.Context, reporter string, before int64) error {
	decisions, err := decision.Read(ctx, m.tx, m.orgID, max(before-backfill, 0), backfill)
	if err != nil {
		return err
	}
	for i := range decisions {
		d := &decisions[i]
		if d.Verdict != verdict.Allow || d.Index >= before || reporterOf(d.KeyID) != reporter {
			continue
		}
		if err := insertAwaited(ctx, m.tx, m.orgID, d); err != nil {
			return err
		}
	}
	return nil
}

// settle finds the decision of an execution, or that there is none.
func (m *matcher) settle(ctx context.Context, e stored) error {
	tx, orgID := m.tx, m.orgID
	if err := m.noteReporter(ctx, e); err != nil {
		return fmt.Errorf("note the reporting key: %w", err)
	}
	if err := followSequence(ctx, tx, orgID, e); err != nil {
		return fmt.Errorf("follow the sequence: %w", err)
	}
	if e.status == Blocked {
		return nil // it did not run
	}
	if e.leaseID != "" {
		return nil // a lease is in place of a decision, and the report was compared with it
	}
	found, err := m.takeAwaited(ctx, e)
	if err != nil {
		return err
	}
	if found.decisionID == "" {
		return insertFinding(ctx, tx, e.finding(orgID, WithoutDecision))
	}
	if err := compareConfinement(ctx, tx, orgID, e, found); err != nil {
		return err
	}
	if found.overdue {
		if err := resolveOutcome(ctx, tx, orgID, found.decisionID); err != nil {
			return err
		}
	}
	if e.taken != "" {
		return nil
	}
	if err := m.outputs.Close(ctx, tx, orgID, found.decisionID); err != nil {
		return err
	}
	_, err = tx.Prepared().Exec(ctx, `UPDATE execution SET decision_id = $2 WHERE id = $1`, e.id, found.decisionID)
	return err
}

func (m *matcher) noteReporter(ctx context.Context, e stored) error {
	reporter := reporterOf(e.keyID)
	if m.reports[reporter] {
		return nil
	}
	fresh, err := m.tx.Prepared().Exec(ctx, `
		INSERT INTO reporter (org_id, product, since)
		VALUES ($1, $2, $3)
		ON CONFLICT (org_id, product) DO NOTHING`, m.orgID, reporter, database.Micros(m.tx.Now()))
	if err != nil {
		return err
	}
	m.reports[reporter] = true
	if fresh == 0 {
		return nil
	}
	return m.takeUp(ctx, reporter, e.position)
}

// reporterOf is how a key is stored that reports. A product would not do: its name is the choice of whoever makes a
// key, and a key of another owner would have outcomes of this one awaited.
func reporterOf(keyID string) string { return "key/" + keyID }
