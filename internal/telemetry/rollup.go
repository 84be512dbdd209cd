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

// flush writes what a commit changes for one organization: sessions, then the rollups, each in the order of its key.
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
	for _, r := range rollups {
		rows, err := r.rows(ctx, tx, orgID, writer, t)
		if err == nil {
			err = tx.Insert(ctx, r.insert, rows, r.onConflict)
		}
		if err != nil {
			return fmt.Errorf("rollups: %w", err)
		}
	}
	return nil
}

func traceRows(
	ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally,
) (rows [][]any, err error) {
	buckets := slices.Sorted(maps.Keys(t.traces))
	stored, err := readTraceSketches(ctx, tx, orgID, writer, buckets)
	if err != nil {
		return nil, err
	}
	for _, bucket := range buckets {
		c := t.traces[bucket]
		sketch, err := mergeSketch(stored[bucket], c.durations)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []any{orgID, bucket, writer, sketch, c.traces, c.errors})
	}
	return rows, nil
}

func minuteRows(_ context.Context, _ *database.Tx, orgID string, writer int64, t *tally) ([][]any, error) {
	return countRows(orgID, writer, t.minutes), nil
}

func sessionHourRows(_ context.Context, _ *database.Tx, orgID string, writer int64, t *tally) ([][]any, error) {
	return countRows(orgID, writer, t.active), nil
}

func countRows(orgID string, writer int64, counts map[int64]int64) (rows [][]any) {
	for _, bucket := range slices.Sorted(maps.Keys(counts)) {
		rows = append(rows, []any{orgID, bucket, writer, counts[bucket]})
	}
	return rows
}

func usageRows(
	_ context.Context, _ *database.Tx, orgID string, writer int64, t *tally,
) (rows [][]any, err error) {
	keys := slices.SortedFunc(maps.Keys(t.usage), func(a, b usageKey) int {
		return cmp.Or(strings.Compare(string(a.dimension), string(b.dimension)), cmp.Compare(a.bucket, b.bucket),
			strings.Compare(a.item, b.item))
	})
	for _, k := range keys {
		c := t.usage[k]
		rows = append(rows, []any{orgID, string(k.dimension), k.bucket, k.item, writer, c.spans,
			c.usage.Input, c.usage.Output, c.usage.CacheRead, c.usage.CacheWrite, c.usage.CostNanos})
	}
	return rows, nil
}

func policyRows(
	ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally,
) (rows [][]any, err error) {
	keys := slices.SortedFunc(maps.Keys(t.policies), func(a, b policyKey) int {
		return cmp.Or(strings.Compare(a.policyID, b.policyID), cmp.Compare(a.bucket, b.bucket))
	})
	stored, err := readPolicies(ctx, tx, orgID, writer, keys)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		c, before := t.policies[k], stored[k]
		sketch, err := mergeSketch(before.durations, c.durations)
		if err != nil {
			return nil, err
		}
		c.rename(before.policyName)
		rows = append(rows, []any{
			orgID, k.policyID, k.bucket, writer, sketch, c.name, c.namedAt, c.calls, c.allowed, c.denied, c.timed,
			c.durationMicros,
		})
	}
	return rows, nil
}

func ruleRows(
	_ context.Context, _ *database.Tx, orgID string, writer int64, t *tally,
) (rows [][]any, err error) {
	keys := slices.SortedFunc(maps.Keys(t.rules), func(a, b ruleKey) int {
		return cmp.Or(strings.Compare(a.policyID, b.policyID), cmp.Compare(a.bucket, b.bucket),
			strings.Compare(a.ruleID, b.ruleID))
	})
	for _, k := range keys {
		rows = append(rows, []any{orgID, k.policyID, k.bucket, k.ruleID, writer, t.rules[k]})
	}
	return rows, nil
}

// readAtOnce is how many rows one statement reads. If there are fewer keys, the first ones are repeated, so that there
// is only one statement to compile.
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

// storedPolicy holds the columns of a policy's row that are replaced.
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

// mergeSketch adds a sketch to a stored one.
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
