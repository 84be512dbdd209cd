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
	return flushRollups(ctx, tx, orgID, s.writerID(), t)
}

// flushRollups adds a tally to the rollup rows of a writer.
func flushRollups(ctx context.Context, tx *database.Tx, orgID string, writer int64, t *tally) error {
	for _, r := range rollups {
		rows, err := r.rows(ctx, rollupWrite{tx, orgID, writer, t})
		if err == nil {
			err = tx.Insert(ctx, r.insert, rows, r.onConflict)
		}
		if err != nil {
			return fmt.Errorf("rollups: %w", err)
		}
	}
	return nil
}

func traceRows(ctx context.Context, w rollupWrite) (rows [][]any, err error) {
	buckets := slices.Sorted(maps.Keys(w.traces))
	stored, err := readTraceSketches(ctx, w, buckets)
	if err != nil {
		return nil, err
	}
	for _, bucket := range buckets {
		c := w.traces[bucket]
		sketch, err := mergeSketch(stored[bucket], c.durations)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []any{w.orgID, bucket, w.writer, sketch, c.traces, c.errors})
	}
	return rows, nil
}

func minuteRows(_ context.Context, w rollupWrite) ([][]any, error) {
	return w.countRows(w.minutes), nil
}

func sessionHourRows(_ context.Context, w rollupWrite) ([][]any, error) {
	return w.countRows(w.active), nil
}

func (w rollupWrite) countRows(counts map[int64]int64) (rows [][]any) {
	for _, bucket := range slices.Sorted(maps.Keys(counts)) {
		rows = append(rows, []any{w.orgID, bucket, w.writer, counts[bucket]})
	}
	return rows
}

func usageRows(_ context.Context, w rollupWrite) (rows [][]any, err error) {
	keys := slices.SortedFunc(maps.Keys(w.usage), func(a, b usageKey) int {
		return cmp.Or(strings.Compare(string(a.dimension), string(b.dimension)), cmp.Compare(a.bucket, b.bucket),
			strings.Compare(a.item, b.item))
	})
	for _, k := range keys {
		c := w.usage[k]
		rows = append(rows, []any{w.orgID, string(k.dimension), k.bucket, k.item, w.writer, c.spans,
			c.usage.Input, c.usage.Output, c.usage.CacheRead, c.usage.CacheWrite, c.usage.CostNanos})
	}
	return rows, nil
}

func policyRows(ctx context.Context, w rollupWrite) (rows [][]any, err error) {
	keys := slices.SortedFunc(maps.Keys(w.policies), func(a, b policyKey) int {
		return cmp.Or(strings.Compare(a.policyID, b.policyID), cmp.Compare(a.bucket, b.bucket))
	})
	stored, err := readPolicies(ctx, w, keys)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		c, before := w.policies[k], stored[k]
		sketch, err := mergeSketch(before.durations, c.durations)
		if err != nil {
			return nil, err
		}
		c.rename(before.policyName)
		rows = append(rows, []any{
			w.orgID, k.policyID, k.bucket, w.writer, sketch, c.name, c.namedAt, c.calls, c.allowed, c.denied, c.timed,
			c.durationMicros,
		})
	}
	return rows, nil
}

func ruleRows(_ context.Context, w rollupWrite) (rows [][]any, err error) {
	keys := slices.SortedFunc(maps.Keys(w.rules), func(a, b ruleKey) int {
		return cmp.Or(strings.Compare(a.policyID, b.policyID), cmp.Compare(a.bucket, b.bucket),
			strings.Compare(a.ruleID, b.ruleID))
	})
	for _, k := range keys {
		rows = append(rows, []any{w.orgID, k.policyID, k.bucket, k.ruleID, w.writer, w.rules[k]})
	}
	return rows, nil
}

// readAtOnce is how many rows one statement reads. If there are fewer keys, the first ones are repeated, so that there
// is only one statement to compile.
const readAtOnce = 16

func readTraceSketches(ctx context.Context, w rollupWrite, buckets []int64) (map[int64][]byte, error) {
	tx := w.tx
	found := map[int64][]byte{}
	for some := range slices.Chunk(buckets, readAtOnce) {
		args := []any{w.orgID, w.writer}
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
func readPolicies(ctx context.Context, w rollupWrite, keys []policyKey) (map[policyKey]storedPolicy, error) {
	tx := w.tx
	found := map[policyKey]storedPolicy{}
	for some := range slices.Chunk(keys, readAtOnce) {
		args := []any{w.orgID, w.writer}
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
