package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/DataDog/sketches-go/ddsketch"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// rollup is a table of totals. A row belongs to an organization, a key and the writer that made it.
type rollup struct {
	table    string
	perHour  int64  // buckets per hour
	key      string // columns beside organization and writer
	replaced string // columns that a commit replaces
	added    string // columns that a commit adds to
	largest  string // the column of which a commit keeps the larger value
	// fromLog: it counts what the log says, and no rows of telemetry.
	fromLog bool
	// lasts: retention keeps it, so that its rows are no measure for it.
	lasts bool
	// rows are what a tally writes: organization, key, writer, replaced, added, largest.
	rows func(ctx context.Context, w rollupWrite) ([][]any, error)
	// add adds a row of key, replaced, added and largest to a tally.
	add func(t *tally, row database.Scanner) error

	insert, onConflict string // SQL
}

// rollupWrite is a tally to be written for an organization.
type rollupWrite struct {
	tx     *database.Tx
	orgID  string
	writer int64
	*tally
}

// rollups are all rollup tables, in the order in which a commit writes them.
var rollups = withSQL([]rollup{
	{
		table: "rollup_trace", perHour: 1, key: "bucket",
		replaced: "durations", added: "traces, errors", rows: traceRows, add: addTraceRow,
	},
	{
		table: "rollup_minute", perHour: 60, key: "bucket",
		added: "traces", rows: minuteRows, add: addMinuteRow,
	},
	{
		table: "rollup_session", perHour: 1, key: "bucket",
		added: "sessions", rows: sessionHourRows, add: addSessionRow,
	},
	{
		table: "rollup_usage", perHour: 1, key: "dimension, bucket, item",
		added: "spans, input_tokens, output_tokens, cache_read, cache_write, cost_nanos", rows: usageRows,
		add: addUsageRow,
	},
	{
		table: "rollup_policy", perHour: 1, key: "policy_id, bucket",
		replaced: "durations, policy_name, named_at", added: "calls, allowed, denied, timed, duration_us",
		rows: policyRows, add: addPolicyRow,
	},
	{
		table: "rollup_rule", perHour: 1, key: "policy_id, bucket, rule_id",
		added: "calls", rows: ruleRows, add: addRuleRow,
	},
	{
		table: "rollup_decision", perHour: 1, key: "dimension, item, part, bucket", fromLog: true,
		added: "allowed, asked, held, denied", largest: "last_position", rows: decisionRows, add: addDecisionRow,
	},
	{
		table: "metered_day", perHour: 1, key: "bucket", lasts: true,
		added: "allowed, asked, held, denied, spans, " +
			"input_tokens, output_tokens, cache_read, cache_write, cost_nanos, bytes",
		rows: meteredRows, add: addMeteredRow,
	},
	{
		table: "metered_agent", perHour: 1, key: "bucket, agent", lasts: true,
		added: "decisions", rows: meteredAgentRows, add: addMeteredAgentRow,
	},
})

func withSQL(all []rollup) []rollup {
	for i := range all {
		r := &all[i]
		r.insert = fmt.Sprintf(`INSERT INTO %s (%s, %s)`, r.table, r.rowKey(), r.values())
		sets := []string{plus(r.table, strings.Split(r.added, ", ")...)}
		if r.replaced != "" {
			for column := range strings.SplitSeq(r.replaced, ", ") {
				sets = append(sets, column+" = excluded."+column)
			}
		}
		if c := r.largest; c != "" {
			sets = append(sets,
				fmt.Sprintf(`%[1]s = CASE WHEN excluded.%[1]s > %[2]s.%[1]s THEN excluded.%[1]s ELSE %[2]s.%[1]s END`,
					c, r.table))
		}
		r.onConflict = fmt.Sprintf(`ON CONFLICT (%s) DO UPDATE SET %s`, r.rowKey(), strings.Join(sets, ", "))
	}
	return all
}

// isRecounted reports whether the rows of telemetry say what it should be.
func (r *rollup) isRecounted() bool { return !r.fromLog && !r.lasts }

// rowKey lists the columns that identify a row.
func (r *rollup) rowKey() string { return "org_id, " + r.key + ", writer" }

func (r *rollup) values() string {
	columns := slices.DeleteFunc([]string{r.replaced, r.added, r.largest}, func(c string) bool { return c == "" })
	return strings.Join(columns, ", ")
}

// columns lists what add reads.
func (r *rollup) columns() string { return r.key + ", " + r.values() }

// readRollups reads the stored totals of an organization's rows, of all writers together.
func readRollups(ctx context.Context, reader database.Reader, orgID string) (*tally, error) {
	t := newTally()
	for _, r := range rollups {
		if !r.isRecounted() {
			continue
		}
		err := each(ctx, reader, func(row database.Scanner) error { return r.add(t, row) },
			fmt.Sprintf(`SELECT %s FROM %s WHERE org_id = $1`, r.columns(), r.table), orgID)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", r.table, err)
		}
	}
	return t, nil
}

func addTraceRow(t *tally, row database.Scanner) error {
	var bucket, traces, errors int64
	var durations []byte
	if err := row.Scan(&bucket, &durations, &traces, &errors); err != nil {
		return err
	}
	c := cell(t.traces, bucket)
	c.traces, c.errors = c.traces+traces, c.errors+errors
	return addSketch(&c.durations, durations)
}

// addSketch merges a stored sketch into one that may be nil.
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
	if err := row.Scan(&k.policyID, &k.bucket, &durations, &p.name, &p.namedAt, &p.calls, &p.allowed, &p.denied,
		&p.timed, &p.durationMicros); err != nil {
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
