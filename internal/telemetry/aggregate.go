package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

const (
	topPolicies = 10
	topRules    = 10
	maxItems    = 1000 // of a token aggregate; the rest becomes one item
	otherItems  = "(other)"
)

// Summary is the overview of an organization.
type Summary struct {
	Traces, Sessions, Errors int64
	Usage                    Usage
	P50, P95                 float64 // milliseconds
	TopFailing               []Count
	TracesPerMinute          float64
}

// Count is how often something occurred.
type Count struct {
	ID    string
	Count int64
}

// PolicyStats is how a policy decided.
type PolicyStats struct {
	Name                   string
	Calls, Allowed, Denied int64
	Average, P50, P95      float64 // milliseconds
	TopRules               []Count
	Shadow                 ShadowStats
}

// UsageItem is the usage of one model, tool or session.
type UsageItem struct {
	Key   string
	Usage Usage
}

func (s *Service) firstKeptDay() int64 { return receivedDay(database.Micros(s.db.Now().Add(-s.keep))) }

// Summary is the overview of a period.
func (s *Service) Summary(ctx context.Context, orgID string, p Period) (sum Summary, err error) {
	h := s.hoursOf(p)
	if err := s.sumTraces(ctx, orgID, h, &sum); err != nil {
		return Summary{}, fmt.Errorf("sum traces: %w", err)
	}
	if sum.Usage, err = s.sumUsage(ctx, orgID, h); err != nil {
		return Summary{}, fmt.Errorf("sum usage: %w", err)
	}
	const sessions = `SELECT CAST(COALESCE(SUM(sessions), 0) AS BIGINT) FROM rollup_session WHERE org_id = $1 AND bucket >= $2 AND bucket < $3`
	if err := s.db.QueryRow(ctx, sessions, orgID, h.first, h.end).Scan(&sum.Sessions); err != nil {
		return Summary{}, fmt.Errorf("count sessions: %w", err)
	}
	if sum.TopFailing, err = s.topFailing(ctx, orgID, h); err != nil {
		return Summary{}, fmt.Errorf("count denials: %w", err)
	}
	sum.TracesPerMinute, err = s.rate(ctx, orgID)
	return sum, err
}

func (s *Service) sumTraces(ctx context.Context, orgID string, h hours, sum *Summary) error {
	var took durationSum
	err := each(ctx, s.db, func(row database.Scanner) error {
		var traces, errors int64
		var durations []byte
		if err := row.Scan(&traces, &errors, &durations); err != nil {
			return err
		}
		sum.Traces, sum.Errors = sum.Traces+traces, sum.Errors+errors
		return took.add(durations)
	}, `SELECT traces, errors, durations FROM rollup_trace WHERE org_id = $1 AND bucket >= $2 AND bucket < $3`, orgID, h.first, h.end)
	if err != nil {
		return err
	}
	sum.P50, sum.P95, err = took.quantiles()
	return err
}

// sums is SQL that adds up the usage columns exactly at any size: billions and the rest separately, because a plain
// SUM may overflow.
var sums = func() string {
	var parts []string
	for _, column := range []string{"input_tokens", "output_tokens", "cache_read", "cache_write", "cost_nanos"} {
		parts = append(parts,
			fmt.Sprintf(`CAST(COALESCE(SUM(%[1]s / %[2]d), 0) AS BIGINT), CAST(COALESCE(SUM(%[1]s %% %[2]d), 0) AS BIGINT)`, column, sumUnit))
	}
	return strings.Join(parts, ", ")
}()

const sumUnit = int64(1e9)

// scanSums reads what sums selects, after other columns.
func scanSums(row database.Scanner, before ...any) (Usage, error) {
	var high, low [5]int64
	for i := range high {
		before = append(before, &high[i], &low[i])
	}
	if err := row.Scan(before...); err != nil {
		return Usage{}, err
	}
	var total [5]int64
	for i := range total {
		const bound = decode.MaxSum / sumUnit
		total[i] = decode.Saturate(min(max(high[i], -bound), bound)*sumUnit, low[i])
	}
	return Usage{
		Input:      total[0],
		Output:     total[1],
		CacheRead:  total[2],
		CacheWrite: total[3],
		CostNanos:  total[4],
	}, nil
}

// sumUsage adds up the usage of every model.
func (s *Service) sumUsage(ctx context.Context, orgID string, h hours) (Usage, error) {
	return scanSums(s.db.QueryRow(ctx,
		`SELECT `+sums+` FROM rollup_usage WHERE org_id = $1 AND dimension = 'model' AND bucket >= $2 AND bucket < $3`,
		orgID, h.first, h.end))
}

func (s *Service) topFailing(ctx context.Context, orgID string, h hours) ([]Count, error) {
	return database.Collect(ctx, s.db, scanCount, fmt.Sprintf(`
		SELECT policy_id, CAST(SUM(denied) AS BIGINT) AS denials
		FROM rollup_policy
		WHERE org_id = $1 AND bucket >= $2 AND bucket < $3 AND denied > 0 AND policy_id NOT LIKE '`+ShadowPrefix+`%%'
		GROUP BY policy_id
		ORDER BY denials DESC, policy_id
		LIMIT %d`, topPolicies), orgID, h.first, h.end)
}

func scanCount(row database.Scanner) (c Count, err error) {
	err = row.Scan(&c.ID, &c.Count)
	return c, err
}

// rate is traces per minute over the last sixty minutes, the current one included.
func (s *Service) rate(ctx context.Context, orgID string) (float64, error) {
	const window = 60
	first := floor(database.Micros(s.db.Now()), minuteMicros) - window + 1
	var traces int64
	err := s.db.QueryRow(ctx,
		`SELECT CAST(COALESCE(SUM(traces), 0) AS BIGINT) FROM rollup_minute WHERE org_id = $1 AND bucket >= $2`, orgID,
		first).Scan(&traces)
	if err != nil {
		return 0, fmt.Errorf("count the last hour: %w", err)
	}
	return float64(traces) / window, nil
}

// Policy returns how a policy decided in a period, and what one version of it would have decided as a shadow; 0: all
// versions. An unknown policy has zeros.
func (s *Service) Policy(
	ctx context.Context, orgID, policyID string, shadowVersion int, p Period,
) (PolicyStats, error) {
	h := s.hoursOf(p)
	f := PolicyStats{TopRules: []Count{}}
	if len(policyID) > decode.MaxText || !storable(policyID) {
		return f, nil // no such id was ever stored
	}
	var timed, micros int64
	var newest policyName
	var took durationSum
	err := each(ctx, s.db, func(row database.Scanner) error {
		var calls, allowed, denied, t, us int64
		var named policyName
		var durations []byte
		if err := row.Scan(&named.name, &named.namedAt, &calls, &allowed, &denied, &t, &us, &durations); err != nil {
			return err
		}
		f.Calls, f.Allowed, f.Denied = f.Calls+calls, f.Allowed+allowed, f.Denied+denied
		timed, micros = timed+t, decode.Saturate(micros, us)
		newest.rename(named)
		return took.add(durations)
	}, `SELECT policy_name, named_at, calls, allowed, denied, timed, duration_us, durations
		FROM rollup_policy
		WHERE org_id = $1 AND policy_id = $2 AND bucket >= $3 AND bucket < $4`, orgID, policyID, h.first, h.end)
	if err != nil {
		return PolicyStats{}, fmt.Errorf("sum a policy: %w", err)
	}
	if timed > 0 {
		f.Average = float64(micros) / float64(timed) / 1000
	}
	if f.P50, f.P95, err = took.quantiles(); err != nil {
		return PolicyStats{}, err
	}
	if f.Name, err = s.lastName(ctx, orgID, policyID, newest.name); err != nil {
		return PolicyStats{}, fmt.Errorf("name a policy: %w", err)
	}
	if f.TopRules, err = s.topRules(ctx, orgID, policyID, h); err != nil {
		return PolicyStats{}, err
	}
	f.Shadow, err = s.shadow(ctx, orgID, policyID, shadowVersion, h)
	return f, err
}

// lastName is the name that is known, else the last one of the policy, however long ago it
// was seen; empty if it never had one.
func (s *Service) lastName(ctx context.Context, orgID, policyID, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	err := scanOptional(s.db.QueryRow(ctx, `
		SELECT policy_name FROM rollup_policy
		WHERE org_id = $1 AND policy_id = $2 AND policy_name <> ''
		ORDER BY named_at DESC, bucket DESC
		LIMIT 1`, orgID, policyID), &name)
	return name, err
}

func (s *Service) topRules(ctx context.Context, orgID, policyID string, h hours) ([]Count, error) {
	return database.Collect(ctx, s.db, scanCount, fmt.Sprintf(`
		SELECT rule_id, CAST(SUM(calls) AS BIGINT) AS matched
		FROM rollup_rule
		WHERE org_id = $1 AND policy_id = $2 AND bucket >= $3 AND bucket < $4
		GROUP BY rule_id
		ORDER BY matched DESC, rule_id
		LIMIT %d`, topRules), orgID, policyID, h.first, h.end)
}

// Tokens groups usage by model, tool, session or agent: the thousand most expensive, and the rest as one item.
func (s *Service) Tokens(ctx context.Context, orgID, groupBy string, p Period) ([]UsageItem, error) {
	h := s.hoursOf(p)
	items := []UsageItem{}
	err := each(ctx, s.db, func(row database.Scanner) (err error) {
		var item UsageItem
		var spans int64
		item.Usage, err = scanSums(row, &item.Key, &spans)
		if spans > 0 || item.Usage != (Usage{}) { // else a report that spans have replaced
			items = append(items, item)
		}
		return err
	}, `SELECT item, CAST(SUM(spans) AS BIGINT), `+sums+`
		FROM rollup_usage
		WHERE org_id = $1 AND dimension = $2 AND bucket >= $3 AND bucket < $4
		GROUP BY item`, orgID, groupBy, h.first, h.end)
	if err != nil {
		return nil, fmt.Errorf("group usage: %w", err)
	}
	slices.SortFunc(items, func(a, b UsageItem) int {
		return cmp.Or(cmp.Compare(b.Usage.CostNanos, a.Usage.CostNanos),
			cmp.Compare(b.Usage.Tokens(), a.Usage.Tokens()), strings.Compare(a.Key, b.Key))
	})
	return foldTail(items), nil
}

// foldTail makes one item of everything beyond the limit.
func foldTail(items []UsageItem) []UsageItem {
	if len(items) <= maxItems {
		return items
	}
	other := UsageItem{Key: otherItems}
	for _, item := range items[maxItems:] {
		other.Usage = other.Usage.Add(item.Usage)
	}
	return append(items[:maxItems:maxItems], other)
}
