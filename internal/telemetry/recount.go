package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

const recountPage = 500

// recount computes every total from the rows themselves, by organization, with the same arithmetic as ingest. It
// counts what retention keeps.
func (s *Service) recount(ctx context.Context, r database.Reader) (map[string]*tally, error) {
	counted := map[string]*tally{}
	in := func(orgID string) *tally {
		if counted[orgID] == nil {
			counted[orgID] = newTally()
		}
		return counted[orgID]
	}
	for after := int64(-1); ; {
		traces, err := readTraces(ctx, r, after)
		if err != nil {
			return nil, fmt.Errorf("read traces: %w", err)
		}
		if len(traces) == 0 {
			break
		}
		if err := readSpans(ctx, r, traces); err != nil {
			return nil, fmt.Errorf("read spans: %w", err)
		}
		for _, t := range traces {
			in(t.orgID).add(&t.batch, t.product, receivedAt(t.pk))
		}
		after = traces[len(traces)-1].pk
	}
	if err := recountSessions(ctx, r, in); err != nil {
		return nil, err
	}
	return counted, s.recountReported(ctx, r, in)
}

// recountSessions counts sessions by their own rows: they outlive their traces.
func recountSessions(ctx context.Context, r database.Reader, in func(orgID string) *tally) error {
	err := each(ctx, r, func(row database.Scanner) error {
		var orgID string
		var bucket, sessions int64
		err := row.Scan(&orgID, &bucket, &sessions)
		in(orgID).active[bucket] += sessions
		return err
	}, fmt.Sprintf(`
		SELECT org_id, hour, count(*)
		FROM (SELECT org_id, last_activity_at / %[1]d - CASE WHEN last_activity_at %% %[1]d < 0 THEN 1 ELSE 0 END AS hour FROM session) AS active
		GROUP BY org_id, hour`, hourMicros))
	if err != nil {
		return fmt.Errorf("count sessions: %w", err)
	}
	return nil
}

// countedTrace is what totals need of a stored trace.
type countedTrace struct {
	orgID, product string
	pk, day        int64
	batch          decode.Batch
}

func readTraces(ctx context.Context, r database.Reader, after int64) ([]*countedTrace, error) {
	return database.Collect(ctx, r, func(row database.Scanner) (*countedTrace, error) {
		c := &countedTrace{}
		t := &c.batch.Trace
		return c, row.Scan(&c.orgID, &c.product, &c.pk, &c.day, &t.SessionID, &t.Start, &t.End, &t.DurationMs,
			&t.Status, &t.UserID, &t.AgentID)
	}, fmt.Sprintf(`
		SELECT org_id, product, pk, received_day, COALESCE(session_id, ''), start_time, end_time, duration_ms, status, COALESCE(user_id, ''), agent_id
		FROM trace
		WHERE pk > $1
		ORDER BY pk
		LIMIT %d`, recountPage), after)
}

// readSpans fills the batches of consecutive traces.
func readSpans(ctx context.Context, r database.Reader, traces []*countedTrace) error {
	byKey := make(map[int64]*countedTrace, len(traces))
	for _, t := range traces {
		byKey[t.pk] = t
	}
	first, last := traces[0], traces[len(traces)-1]
	return each(ctx, r, func(row database.Scanner) error {
		var pk, seq int64
		var s decode.Span
		err := row.Scan(&pk, &seq, &s.End, &s.Kind, &s.Name, &s.Start, &s.DurationMs, &s.Status, &s.Tool, &s.Model,
			&s.Usage.Input, &s.Usage.Output, &s.Usage.CacheRead, &s.Usage.CacheWrite, &s.Usage.CostNanos,
			&s.PolicyID, &s.PolicyName, &s.Decision, &s.RuleID)
		restoreGrown(&s, seq)
		if t := byKey[pk]; t != nil {
			t.batch.Spans = append(t.batch.Spans, s)
			t.batch.Trace.Count(&s)
		}
		return err
	}, `
		SELECT trace_pk, seq, end_time, kind, name, start_time, duration_ms, status, COALESCE(tool_name, ''), COALESCE(model, ''),
			input_tokens, output_tokens, cache_read, cache_write, cost_nanos,
			COALESCE(policy_id, ''), COALESCE(policy_name, ''), COALESCE(decision, ''), COALESCE(rule_id, '')
		FROM span
		WHERE received_day BETWEEN $1 AND $2 AND trace_pk BETWEEN $3 AND $4
		ORDER BY trace_pk, seq`, min(first.day, last.day), max(first.day, last.day), first.pk, last.pk)
}

func (s *Service) recountReported(ctx context.Context, r database.Reader, in func(orgID string) *tally) error {
	err := each(ctx, r, func(row database.Scanner) error {
		var orgID string
		var of reportOf
		var bucket int64
		var u Usage
		err := row.Scan(&orgID, &of.session, &of.model, &of.agent, &bucket, &u.Input, &u.Output, &u.CacheRead,
			&u.CacheWrite,
			&u.CostNanos)
		if err == nil {
			in(orgID).addReported(bucket, of, u)
		}
		return err
	},
		`SELECT org_id, session_id, model, agent_id, bucket, input_tokens, output_tokens, cache_read, cache_write, cost_nanos
		FROM reported_usage
		WHERE superseded = 0`)
	if err != nil {
		return fmt.Errorf("read reported usage: %w", err)
	}
	return nil
}

// Rebuild replaces every rollup by a recount, while ingest waits.
func (s *Service) Rebuild(ctx context.Context) error {
	return s.db.Maintain(ctx, func(ctx context.Context, tx *database.Tx) error {
		if err := emptyRollups(ctx, tx); err != nil {
			return err
		}
		counted, err := s.recount(ctx, tx)
		if err != nil {
			return err
		}
		for _, orgID := range slices.Sorted(maps.Keys(counted)) {
			t := counted[orgID]
			t.sessions, t.models = nil, nil // these are stored and need no recount
			t.dropBefore(s.firstKeptDay() * 24)
			if err := s.flush(ctx, tx, orgID, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// emptyRollups deletes every rollup that can be recounted and keeps ingest from writing new ones. What will
// be read is locked first, in the order of ingest, which may be creating partitions.
func emptyRollups(ctx context.Context, tx *database.Tx) error {
	lock := func(table, mode string) error {
		if tx.Engine() == database.SQLite {
			return nil // which has one writer
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(`LOCK TABLE %s IN %s MODE`, table, mode)); err != nil {
			return fmt.Errorf("lock %s: %w", table, err)
		}
		return nil
	}
	for _, table := range partitioned {
		if err := lock(table, "ACCESS SHARE"); err != nil {
			return err
		}
	}
	for _, r := range rollups {
		if !r.isRecounted() {
			continue
		}
		if err := lock(r.table, "EXCLUSIVE"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM `+r.table); err != nil {
			return fmt.Errorf("empty %s: %w", r.table, err)
		}
	}
	return nil
}

// dropMinutesBefore drops minutes that retention may have removed.
func (t *tally) dropMinutesBefore(first int64) {
	maps.DeleteFunc(t.minutes, func(bucket, _ int64) bool { return bucket < first })
}

// dropBefore drops what happened before the first kept hour: a trace may be received long after it happened, and its
// totals are not kept longer than others.
func (t *tally) dropBefore(hour int64) {
	maps.DeleteFunc(t.traces, func(bucket int64, _ *traceCell) bool { return bucket < hour })
	maps.DeleteFunc(t.minutes, func(bucket, _ int64) bool { return bucket < hour*60 })
	maps.DeleteFunc(t.active, func(bucket, _ int64) bool { return bucket < hour })
	maps.DeleteFunc(t.usage, func(k usageKey, _ *usageCell) bool { return k.bucket < hour })
	maps.DeleteFunc(t.policies, func(k policyKey, _ *policyCell) bool { return k.bucket < hour })
	maps.DeleteFunc(t.rules, func(k ruleKey, _ int64) bool { return k.bucket < hour })
	maps.DeleteFunc(t.decisions, func(k decisionKey, _ *decisionCell) bool { return k.bucket < hour })
}
