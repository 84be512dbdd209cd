package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// reportModels is how many models one change reports, so that others do not wait for long.
const reportModels = 50

// ReportUsage replaces the totals of a session's models. If a model's spans are known, these count, and its report is
// stored without counting. If it returns an error, some totals are replaced already; sending them again completes it.
func (s *Service) ReportUsage(
	ctx context.Context, orgID, product, sessionID string, entries []ReportedUsage,
) (int, error) {
	report, err := decode.CheckReport(product, sessionID, entries, s.prices)
	if err != nil {
		return 0, err
	}
	limit, err := s.limitOf(ctx, orgID)
	if err != nil {
		return 0, err
	}
	for models := range slices.Chunk(slices.Sorted(maps.Keys(report.Models)), reportModels) {
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			// Before the session, as ingest does.
			if left, err := s.leftIn(ctx, tx, orgID, limit); err != nil || left <= 0 {
				return orReached(err, limit, tx.Now())
			}
			if err := lockSession(ctx, tx, orgID, report.SessionID); err != nil {
				return err
			}
			t := s.tallyIn(tx, orgID)
			for _, model := range models {
				if err := s.report(ctx, tx, orgID, product, report.SessionID, model, report.Models[model],
					t); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			return 0, fmt.Errorf("report usage: %w", err)
		}
	}
	return len(report.Models), nil
}

// lockSession makes replicas take turns with the reports of a session: one must not store a report while another
// stores the spans that replace it.
func lockSession(ctx context.Context, tx *database.Tx, orgID, sessionID string) error {
	if tx.Engine() != database.PostgreSQL {
		return nil // SQLite has one writer
	}
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`,
		"telemetry/session/"+orgID+"/"+sessionID)
	return err
}

// report stores one total. Its previous value is subtracted from the rollups, and the new one added unless spans count
// instead.
func (s *Service) report(
	ctx context.Context, tx *database.Tx, orgID, product, sessionID, model string, u Usage, t *tally,
) error {
	var old Usage
	before := reportOf{session: sessionID, model: model}
	oldBucket, superseded := int64(0), int64(1) // a missing report counts nothing
	err := scanOptional(tx.QueryRow(ctx, `
		SELECT agent_id, bucket, superseded, input_tokens, output_tokens, cache_read, cache_write, cost_nanos
		FROM reported_usage
		WHERE org_id = $1 AND session_id = $2 AND model = $3 AND product = $4`, orgID, sessionID, model, product),
		&before.agent, &oldBucket, &superseded, &old.Input, &old.Output, &old.CacheRead, &old.CacheWrite,
		&old.CostNanos)
	if err != nil {
		return err
	}
	known, err := s.hasSpans(ctx, tx, orgID, sessionID, model, t)
	if err != nil {
		return err
	}
	now := before
	if now.agent, err = agentOf(ctx, tx, orgID, sessionID, t); err != nil {
		return err
	}
	bucket := floor(database.Micros(tx.Now()), hourMicros)
	if superseded == 0 {
		t.addReported(oldBucket, before, old.Negate())
		t.meterReport(oldBucket, old.Negate())
	}
	superseded = 1
	if !known {
		superseded = 0
		t.addReported(bucket, now, u)
		t.meterReport(bucket, u)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO reported_usage (org_id, product, session_id, model, bucket, input_tokens, output_tokens, cache_read, cache_write, cost_nanos, superseded, agent_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (org_id, session_id, model, product) DO UPDATE SET
			bucket = excluded.bucket, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
			cache_read = excluded.cache_read, cache_write = excluded.cache_write, cost_nanos = excluded.cost_nanos, superseded = excluded.superseded,
			agent_id = excluded.agent_id`,
		orgID, product, sessionID, model, bucket, u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CostNanos, superseded,
		now.agent)
	return err
}

// hasSpans reports whether generation spans of this session and model are known, including those of the running
// commit.
func (s *Service) hasSpans(
	ctx context.Context, tx *database.Tx, orgID, sessionID, model string, t *tally,
) (bool, error) {
	if t.models[[2]string{sessionID, model}] {
		return true, nil
	}
	var there bool
	err := tx.QueryRow(ctx,
		`SELECT EXISTS (SELECT 1 FROM session_model WHERE org_id = $1 AND session_id = $2 AND model = $3)`,
		orgID, sessionID, model).Scan(&there)
	return there, err
}

// reportOf is what a report counts for. Its agent is that of the session when it came.
type reportOf struct{ session, model, agent string }

// agentOf is the agent of a session, as far as it is known; empty: it is not.
func agentOf(ctx context.Context, tx *database.Tx, orgID, sessionID string, t *tally) (agent string, err error) {
	err = scanOptional(tx.QueryRow(ctx, `SELECT agent_id FROM session WHERE org_id = $1 AND id = $2`, orgID, sessionID),
		&agent)
	if s := t.sessions[sessionID]; agent == "" && s != nil {
		agent = s.agentID
	}
	return agent, err
}

// addReported counts a reported total, or subtracts it.
func (t *tally) addReported(bucket int64, of reportOf, u Usage) {
	t.addUsage(byModel, bucket, of.model, u, 0)
	t.addUsage(bySession, bucket, of.session, u, 0)
	t.addUsage(byAgent, bucket, of.agent, u, 0)
}

// supersede stops counting reports that spans have replaced.
func (s *Service) supersede(ctx context.Context, tx *database.Tx, orgID string, t *tally) error {
	pairs := slices.SortedFunc(maps.Keys(t.models), func(a, b [2]string) int {
		return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	})
	var rows [][]any
	for _, pair := range pairs {
		rows = append(rows, []any{orgID, pair[0], pair[1]})
	}
	fresh, err := database.InsertReturning(ctx, tx, func(sc database.Scanner) (pair [2]string, err error) {
		err = sc.Scan(&pair[0], &pair[1])
		return pair, err
	}, `INSERT INTO session_model (org_id, session_id, model)`, rows,
		`ON CONFLICT DO NOTHING RETURNING session_id, model`)
	if err != nil || len(fresh) == 0 {
		return err // older pairs had their reports superseded when they came
	}
	sessions := map[string]bool{}
	for _, pair := range fresh {
		sessions[pair[0]] = true
	}
	for _, session := range slices.Sorted(maps.Keys(sessions)) {
		if err := lockSession(ctx, tx, orgID, session); err != nil {
			return err
		}
	}
	for pairs := range slices.Chunk(fresh, pairsAtOnce) {
		if err := stopCounting(ctx, tx, orgID, pairs, t); err != nil {
			return err
		}
	}
	return nil
}

const pairsAtOnce = 1000

// stopCounting subtracts the reports of these sessions and models from the rollups.
func stopCounting(ctx context.Context, tx *database.Tx, orgID string, pairs [][2]string, t *tally) error {
	args := []any{orgID}
	var list []string
	for _, pair := range pairs {
		list = append(list, fmt.Sprintf("($%d, $%d)", len(args)+1, len(args)+2))
		args = append(args, pair[0], pair[1])
	}
	return each(ctx, tx, func(row database.Scanner) error {
		var of reportOf
		var bucket int64
		var u Usage
		err := row.Scan(&of.session, &of.model, &of.agent, &bucket, &u.Input, &u.Output, &u.CacheRead, &u.CacheWrite,
			&u.CostNanos)
		t.addReported(bucket, of, u.Negate())
		t.meterReport(bucket, u.Negate())
		return err
	}, `
		UPDATE reported_usage SET superseded = 1
		WHERE org_id = $1 AND superseded = 0 AND (session_id, model) IN (VALUES `+strings.Join(list, ", ")+`)
		RETURNING session_id, model, agent_id, bucket, input_tokens, output_tokens, cache_read, cache_write, cost_nanos`, args...)
}
