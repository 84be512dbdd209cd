package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/DataDog/sketches-go/ddsketch"

	"writ/internal/database"
)

// flush writes what a commit changes for one organization: sessions, then the
// rollups, each in the order of its key.
func (s *Service) flush(ctx context.Context, tx *database.Tx, orgID string, t *tally) error {
	if err := upsertSessions(ctx, tx, orgID, t); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	if err := s.supersede(ctx, tx, orgID, t); err != nil {
		return fmt.Errorf("reported usage: %w", err)
	}
	return flushRollups(ctx, tx, orgID, s.writerID, t)
}

// flushRollups adds a tally to the rollup rows of a writer.
func flushRollups(ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally) error {
	for _, write := range []func(context.Context, *database.Tx, string, int64, *tally) error{
		flushTraces, flushMinutes, flushSessions, flushUsage, flushPolicies, flushRules,
	} {
		if err := write(ctx, tx, orgID, writer, t); err != nil {
			return fmt.Errorf("rollups: %w", err)
		}
	}
	return nil
}

func flushTraces(ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally) error {
	buckets := slices.Sorted(maps.Keys(t.traces))
	stored, err := readTraceSketches(ctx, tx, orgID, writer, buckets)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, bucket := range buckets {
		c := t.traces[bucket]
		sketch, err := mergeSketch(stored[bucket], c.durations)
		if err != nil {
			return err
		}
		rows = append(rows, []any{orgID, bucket, writer, c.traces, c.errors, sketch})
	}
	return tx.Insert(ctx, `INSERT INTO rollup_trace (org_id, bucket, writer, traces, errors, durations)`, rows,
		`ON CONFLICT (org_id, bucket, writer) DO UPDATE SET durations = excluded.durations, `+
			plus("rollup_trace", "traces", "errors"))
}

func flushMinutes(ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally) error {
	var rows [][]any
	for _, minute := range slices.Sorted(maps.Keys(t.minutes)) {
		rows = append(rows, []any{orgID, minute, writer, t.minutes[minute]})
	}
	return tx.Insert(ctx, `INSERT INTO rollup_minute (org_id, bucket, writer, traces)`, rows,
		`ON CONFLICT (org_id, bucket, writer) DO UPDATE SET `+plus("rollup_minute", "traces"))
}

func flushSessions(ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally) error {
	var rows [][]any
	for _, bucket := range slices.Sorted(maps.Keys(t.active)) {
		rows = append(rows, []any{orgID, bucket, writer, t.active[bucket]})
	}
	return tx.Insert(ctx, `INSERT INTO rollup_session (org_id, bucket, writer, sessions)`, rows,
		`ON CONFLICT (org_id, bucket, writer) DO UPDATE SET `+plus("rollup_session", "sessions"))
}

func flushUsage(ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally) error {
	keys := slices.SortedFunc(maps.Keys(t.usage), func(a, b usageKey) int {
		return cmp.Or(strings.Compare(string(a.dimension), string(b.dimension)), cmp.Compare(a.bucket, b.bucket),
			strings.Compare(a.item, b.item))
	})
	var rows [][]any
	for _, k := range keys {
		c := t.usage[k]
		rows = append(rows, []any{orgID, string(k.dimension), k.bucket, k.item, writer, c.spans,
			c.usage.Input, c.usage.Output, c.usage.CacheRead, c.usage.CacheWrite, c.usage.CostNanos})
	}
	return tx.Insert(ctx,
		`INSERT INTO rollup_usage (org_id, dimension, bucket, item, writer, spans, input_tokens, output_tokens, cache_read, cache_write, cost_nanos)`, rows,
		`ON CONFLICT (org_id, dimension, bucket, item, writer) DO UPDATE SET `+
			plus("rollup_usage", "spans", "input_tokens", "output_tokens", "cache_read", "cache_write", "cost_nanos"))
}

func flushPolicies(ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally) error {
	keys := slices.SortedFunc(maps.Keys(t.policies), func(a, b policyKey) int {
		return cmp.Or(strings.Compare(a.policyID, b.policyID), cmp.Compare(a.bucket, b.bucket))
	})
	stored, err := readPolicies(ctx, tx, orgID, writer, keys)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, k := range keys {
		c, before := t.policies[k], stored[k]
		sketch, err := mergeSketch(before.durations, c.durations)
		if err != nil {
			return err
		}
		c.rename(before.policyName)
		rows = append(rows, []any{
			orgID, k.policyID, k.bucket, writer, c.name, c.namedAt, c.calls, c.allowed, c.denied, c.timed,
			c.durationMicros, sketch,
		})
	}
	return tx.Insert(ctx,
		`INSERT INTO rollup_policy (org_id, policy_id, bucket, writer, policy_name, named_at, calls, allowed, denied, timed, duration_us, durations)`, rows, `
		ON CONFLICT (org_id, policy_id, bucket, writer) DO UPDATE SET
			policy_name = excluded.policy_name, named_at = excluded.named_at, durations = excluded.durations, `+
			plus("rollup_policy", "calls", "allowed", "denied", "timed", "duration_us"))
}

func flushRules(ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally) error {
	keys := slices.SortedFunc(maps.Keys(t.rules), func(a, b ruleKey) int {
		return cmp.Or(strings.Compare(a.policyID, b.policyID), cmp.Compare(a.bucket, b.bucket),
			strings.Compare(a.ruleID, b.ruleID))
	})
	var rows [][]any
	for _, k := range keys {
		rows = append(rows, []any{orgID, k.policyID, k.bucket, k.ruleID, writer, t.rules[k]})
	}
	return tx.Insert(ctx, `INSERT INTO rollup_rule (org_id, policy_id, bucket, rule_id, writer, calls)`, rows,
		`ON CONFLICT (org_id, policy_id, bucket, rule_id, writer) DO UPDATE SET `+plus("rollup_rule", "calls"))
}

// readAtOnce is how many cells one statement reads. Where there are fewer the first
// is asked for again, so that it is one statement, which is compiled once.
const readAtOnce = 16

// readTraceSketches reads a writer's sketches of some buckets.
func readTraceSketches(
	ctx context.Context, tx *database.Tx, orgID string, writer int64, buckets []int64,
) (map[int64][]byte, error) {
	found := map[int64][]byte{}
	for some := range slices.Chunk(buckets, readAtOnce) {
		args := []any{orgID, writer}
		for i := range readAtOnce {
			args = append(args, some[i%len(some)])
		}
		_, err := database.Collect(ctx, tx.Prepared(), func(row database.Scanner) (none struct{}, err error) {
			var bucket int64
			var sketch []byte
			err = row.Scan(&bucket, &sketch)
			found[bucket] = sketch
			return none, err
		},
			`SELECT bucket, durations FROM rollup_trace WHERE org_id = $1 AND writer = $2 AND bucket IN (`+
				marks(3, readAtOnce)+`)`+forUpdate(tx), args...)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// storedPolicy is what a policy's figures are not simply added to.
type storedPolicy struct {
	policyName
	durations []byte
}

// readPolicies reads those of a writer, and perhaps a few more.
func readPolicies(
	ctx context.Context, tx *database.Tx, orgID string, writer int64, keys []policyKey,
) (map[policyKey]storedPolicy, error) {
	found := map[policyKey]storedPolicy{}
	for some := range slices.Chunk(keys, readAtOnce) {
		args := []any{orgID, writer}
		for i := range readAtOnce {
			args = append(args, some[i%len(some)].policyID)
		}
		for i := range readAtOnce {
			args = append(args, some[i%len(some)].bucket)
		}
		_, err := database.Collect(ctx, tx.Prepared(), func(row database.Scanner) (none struct{}, err error) {
			var k policyKey
			var p storedPolicy
			err = row.Scan(&k.policyID, &k.bucket, &p.name, &p.namedAt, &p.durations)
			found[k] = p
			return none, err
		}, `SELECT policy_id, bucket, policy_name, named_at, durations
			FROM rollup_policy
			WHERE org_id = $1 AND writer = $2 AND policy_id IN (`+marks(3, readAtOnce)+`) AND bucket IN (`+
			marks(3+readAtOnce, readAtOnce)+`)`+forUpdate(tx), args...)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// marks is "$3, $4, $5" for 3 and 3.
func marks(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", from+i)
	}
	return strings.Join(list, ", ")
}

// mergeSketch is a stored sketch with more in it.
func mergeSketch(stored []byte, more *ddsketch.DDSketch) ([]byte, error) {
	if more == nil {
		if stored == nil {
			return []byte{}, nil
		}
		return stored, nil
	}
	if len(stored) > 0 {
		if err := more.DecodeAndMergeWith(stored); err != nil {
			return nil, fmt.Errorf("read a stored sketch: %w", err)
		}
	}
	var encoded []byte
	more.Encode(&encoded, false)
	return encoded, nil
}
