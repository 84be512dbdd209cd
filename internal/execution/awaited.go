package execution

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/names"
	"writ/internal/toolname"
)

// stored is an execution as it is matched.
type stored struct {
	id, keyID, planID, sessionID, agentID, tool, status string
	taken                                               string // the decision that the report itself took; mostly empty
	confined                                            string // as JSON; empty: the client does not say
	leaseID                                             string // empty: no lease was presented
	position, executedAt                                int64
	digest                                              []byte
	seq                                                 sql.NullInt64
}

func readExecutions(ctx context.Context, r database.Reader, orgID string, from int64, limit int) ([]stored, error) {
	return database.Collect(ctx, r, func(row database.Scanner) (e stored, err error) {
		err = row.Scan(&e.id, &e.position, &e.executedAt, &e.keyID, &e.planID, &e.sessionID, &e.agentID, &e.tool,
			&e.digest, &e.status, &e.seq, &e.confined, &e.taken, &e.leaseID)
		return e, err
	}, `
		SELECT id, position, executed_at, key_id, plan_id, session_id, agent_id,
			CASE WHEN called <> '' THEN called ELSE tool END, digest, status, seq, confined, decision_id, lease_id
		FROM execution
		WHERE org_id = $1 AND position >= $2
		ORDER BY position
		LIMIT $3`, orgID, from, limit)
}

// finding is a finding about the execution.
func (e *stored) finding(orgID string, kind Kind) Finding {
	return Finding{
		OrgID:       orgID,
		Kind:        kind,
		HappenedAt:  database.Time(e.executedAt),
		Position:    e.position,
		KeyID:       e.keyID,
		AgentID:     e.agentID,
		SessionID:   e.sessionID,
		PlanID:      e.planID,
		Tool:        e.tool,
		ExecutionID: e.id,
	}
}

func insertAwaited(ctx context.Context, tx *database.Tx, orgID string, d *decision.Record) error {
	digest := d.Digest
	if digest == nil {
		digest = []byte{}
	}
	demanded, err := demandedText(d.Confine)
	if err != nil {
		return err
	}
	_, err = tx.Prepared().Exec(ctx, `
		INSERT INTO awaited_outcome (org_id, position, decision_id, decided_at, key_id, plan_id, session_id, agent_id, tool, wire_name, digest,
			confine, overdue)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0)`,
		orgID, d.Index, d.ID, database.Micros(d.At), d.KeyID, d.PlanID, names.Cut(d.SessionID, maxLabel),
		names.Cut(d.AgentID, maxLabel), names.Cut(d.Tool, maxLabel),
		names.Cut(toolname.Wire(d.Server, d.Tool), maxLabel), digest, demanded)
	return err
}

// awaited is an allowed call that waits for its outcome.
type awaited struct {
	decisionID string // empty: none
	position   int64
	planID     string
	digest     []byte
	confine    string // what it had to be confined to, as JSON; empty: nothing
	overdue    bool
	other      bool // its server is the one that the execution's name means only if there is no other
	inMemory   bool // see meet
}

// takers are the executions that took their decisions when they were reported, by decision, and are matched with them.
func takers(executions []stored) map[string]*stored {
	by := map[string]*stored{}
	for i := range executions {
		if e := &executions[i]; e.taken != "" && e.status != Blocked && e.leaseID == "" {
			by[e.taken] = e
		}
	}
	return by
}

// met is a decision that waits in memory, with what its row would be found by.
type met struct {
	awaited
	keyID, tool, wireName string
}

// meet has a decision wait in memory for the execution that took it, which comes in the same slice: a row would be gone
// again when the slice is stored. It is found as a row is.
func (m *matcher) meet(d *decision.Record) error {
	demanded, err := demandedText(d.Confine)
	if err != nil {
		return err
	}
	m.met[d.ID] = met{
		awaited: awaited{
			decisionID: d.ID, position: d.Index, planID: d.PlanID, digest: d.Digest,
			confine: demanded, inMemory: true,
		},
		keyID:    d.KeyID,
		tool:     names.Cut(d.Tool, maxLabel),
		wireName: names.Cut(toolname.Wire(d.Server, d.Tool), maxLabel),
	}
	return nil
}

// maxCandidates is how many waiting calls, the oldest first, are candidates for one
// report. An agent with more has findings in any case, and must not slow the search.
const maxCandidates = 100

// takeAwaited takes the oldest call of the same key and tool that fits an execution best:
// by plan and arguments, else by arguments, else by plan. Where the name may be of two
// servers, that of the second is taken only if it fits better.
func (m *matcher) takeAwaited(ctx context.Context, e stored) (awaited, error) {
	if own, ok := m.met[e.taken]; ok {
		delete(m.met, e.taken)
		return own.awaited, nil
	}
	waiting, err := m.readNamed(ctx, e)
	if err != nil {
		return awaited{}, fmt.Errorf("find its decision: %w", err)
	}
	best, found := awaited{}, -1
	for _, w := range waiting {
		fit := 0
		if !w.other {
			fit++
		}
		if w.planID == e.planID {
			fit += 2
		}
		if bytes.Equal(w.digest, e.digest) {
			fit += 4
		}
		if e.taken != "" && w.decisionID == e.taken {
			fit += 8
		}
		if fit > found || fit == found && w.position < best.position {
			best, found = w, fit
		}
	}
	if found < 0 || e.taken != "" && best.decisionID != e.taken {
		return awaited{decisionID: e.taken}, nil
	}
	if best.inMemory {
		delete(m.met, best.decisionID)
		return best, nil
	}
	_, err = m.tx.Prepared().Exec(ctx, `DELETE FROM awaited_outcome WHERE org_id = $1 AND position = $2`, m.orgID,
		best.position)
	return best, err
}

// readNamed reads the oldest calls that wait under any form of an execution's name.
func (m *matcher) readNamed(ctx context.Context, e stored) ([]awaited, error) {
	waiting, err := m.readAwaited(ctx, `tool`, e.keyID, e.tool)
	form, other := toolname.CalledWires(e.tool)
	for _, name := range []string{form, other} {
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		var more []awaited
		more, err = m.readAwaited(ctx, `wire_name`, e.keyID, name)
		for _, w := range more {
			w.other = name == other
			waiting = append(waiting, w)
		}
	}
	return waiting, err
}

// readAwaited reads the oldest calls of a key that wait under a name.
func (m *matcher) readAwaited(ctx context.Context, column, keyID, name string) ([]awaited, error) {
	waiting, err := database.Collect(ctx, m.tx.Prepared(), func(row database.Scanner) (w awaited, err error) {
		err = row.Scan(&w.decisionID, &w.position, &w.planID, &w.digest, &w.confine, &w.overdue)
		return w, err
	}, `
		SELECT decision_id, position, plan_id, digest, confine, overdue <> 0
		FROM awaited_outcome
		WHERE org_id = $1 AND key_id = $2 AND `+column+` = $3
		ORDER BY position
		LIMIT $4`, m.orgID, keyID, name, maxCandidates)
	if err != nil {
		return nil, err
	}
	for _, d := range m.met {
		if d.keyID == keyID && (column == `tool` && d.tool == name || column == `wire_name` && d.wireName == name) {
			waiting = append(waiting, d.awaited)
		}
	}
	slices.SortFunc(waiting, func(a, b awaited) int { return cmp.Compare(a.position, b.position) })
	return waiting[:min(len(waiting), maxCandidates)], nil
}

// sweep turns overdue outcomes into findings, if the key reports at all, and gives up
// those that are too old.
func (s *Service) sweep(ctx context.Context) error {
	for {
		late, err := readLate(ctx, s.db, s.db.Now())
		if err != nil {
			return fmt.Errorf("find overdue outcomes: %w", err)
		}
		if len(late) == 0 {
			return nil
		}
		err = s.db.Write(ctx, database.Change{Logs: []string{"reconcile/sweep"}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			late, err := readLate(ctx, tx, tx.Now()) // another replica may have been faster
			if err != nil {
				return err
			}
			m := s.matcher(tx, "") // of several organizations
			for _, l := range late {
				if err := m.overdue(ctx, l); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			return fmt.Errorf("note overdue outcomes: %w", err)
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
		l.Kind = WithoutOutcome
		err = row.Scan(&l.OrgID, &l.Position, &l.DecisionID, database.ToTime(&l.HappenedAt), &l.KeyID, &l.PlanID,
			&l.SessionID, &l.AgentID, &l.Tool, &l.found)
		return l, err
	}, `
		SELECT org_id, position, decision_id, decided_at, key_id, plan_id, session_id, agent_id, tool, overdue <> 0
		FROM awaited_outcome
		WHERE overdue = 0 AND decided_at <= $1 OR overdue = 1 AND decided_at <= $2
		ORDER BY decided_at
		LIMIT $3`, database.Micros(now.Add(-OutcomeWithin)), database.Micros(now.Add(-awaitFor)), reconcileSlice)
}

// overdue makes a finding of a call. One that was found long ago, or whose key never
// reports, is no longer awaited.
func (m *matcher) overdue(ctx context.Context, l late) error {
	tx, reports := m.tx, false
	if !l.found {
		var err error
		if reports, err = isReporter(ctx, tx, l.OrgID, reporterOf(l.KeyID)); err != nil {
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
	_, err := tx.Exec(ctx, `UPDATE awaited_outcome SET overdue = 1 WHERE org_id = $1 AND position = $2`, l.OrgID,
		l.Position)
	return err
}
