package telemetry

import (
	"context"
	"fmt"
	"strings"

	"github.com/DataDog/sketches-go/ddsketch"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// rollup is a table that keeps figures. A row belongs to an organization, a key
// and the writer that made it.
type rollup struct {
	table   string
	key     []string // beside organization and writer
	values  string
	perHour int64 // buckets
	// add puts a row of key and values into a tally.
	add func(t *tally, row database.Scanner) error
}

// rollups are all of them, in the order in which a commit writes them.
var rollups = []rollup{
	{"rollup_trace", []string{"bucket"}, "traces, errors, durations", 1, addTraceRow},
	{"rollup_minute", []string{"bucket"}, "traces", 60, addMinuteRow},
	{"rollup_session", []string{"bucket"}, "sessions", 1, addSessionRow},
	{
		"rollup_usage", []string{"dimension", "bucket", "item"},
		"spans, input_tokens, output_tokens, cache_read, cache_write, cost_nanos", 1, addUsageRow,
	},
	{
		"rollup_policy", []string{"policy_id", "bucket"},
		"policy_name, named_at, calls, allowed, denied, timed, duration_us, durations", 1, addPolicyRow,
	},
	{"rollup_rule", []string{"policy_id", "bucket", "rule_id"}, "calls", 1, addRuleRow},
}

// columns are what add reads.
func (r *rollup) columns() string { return strings.Join(r.key, ", ") + ", " + r.values }

// readRollups reads the stored figures of an organization, all writers together.
func readRollups(ctx context.Context, reader database.Reader, orgID string) (*tally, error) {
	t := newTally()
	for _, r := range rollups {
		_, err := database.Collect(ctx, reader, func(row database.Scanner) (none struct{}, err error) {
			return none, r.add(t, row)
		}, fmt.Sprintf(`SELECT %s FROM %s WHERE org_id = $1`, r.columns(), r.table), orgID)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", r.table, err)
		}
	}
	return t, nil
}

func addTraceRow(t *tally, row database.Scanner) error {
	var bucket, traces, errors int64
	var durations []byte
	if err := row.Scan(&bucket, &traces, &errors, &durations); err != nil {
		return err
	}
	c := cell(t.traces, bucket)
	c.traces, c.errors = c.traces+traces, c.errors+errors
	return addSketch(&c.durations, durations)
}

// addSketch merges a stored sketch into one that may not be there yet.
func addSketch(sketch **ddsketch.DDSketch, encoded []byte) error {
	if len(encoded) == 0 {
		return nil
	}
	if *sketch == nil {
		*sketch = newSketch()
	}
	if err := (*sketch).DecodeAndMergeWith(encoded); err != nil {
		return fmt.Errorf("read a stored sketch: %w", err)
	}
	return nil
}

func addMinuteRow(t *tally, row database.Scanner) error {
	var bucket, traces int64
	err := row.Scan(&bucket, &traces)
	t.minutes[bucket] += traces
	return err
}

func addSessionRow(t *tally, row database.Scanner) error {
	var bucket, sessions int64
	err := row.Scan(&bucket, &sessions)
	t.active[bucket] += sessions
	return err
}

func addUsageRow(t *tally, row database.Scanner) error {
	var k usageKey
	var spans int64
	var u Usage
	err := row.Scan(&k.dimension, &k.bucket, &k.item, &spans, &u.Input, &u.Output, &u.CacheRead, &u.CacheWrite,
		&u.CostNanos)
	t.addUsage(k.dimension, k.bucket, k.item, u, spans)
	return err
}

func addPolicyRow(t *tally, row database.Scanner) error {
	var k policyKey
	var p policyCell
	var durations []byte
	if err := row.Scan(&k.policyID, &k.bucket, &p.name, &p.namedAt, &p.calls, &p.allowed, &p.denied, &p.timed,
		&p.durationMicros, &durations); err != nil {
		return err
	}
	c := cell(t.policies, k)
	c.calls, c.allowed, c.denied, c.timed = c.calls+p.calls, c.allowed+p.allowed, c.denied+p.denied, c.timed+p.timed
	c.durationMicros = decode.Saturate(c.durationMicros, p.durationMicros)
	c.rename(p.policyName)
	return addSketch(&c.durations, durations)
}

func addRuleRow(t *tally, row database.Scanner) error {
	var k ruleKey
	var calls int64
	err := row.Scan(&k.policyID, &k.bucket, &k.ruleID, &calls)
	t.rules[k] += calls
	return err
}
