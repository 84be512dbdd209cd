package telemetry

import (
	"context"
	"fmt"
	"math"
	"strings"

	"writ/internal/database"
)

// topItems is how many items a series shows by name. The rest is one more, otherItems.
const topItems = 20

// grouping is how a series is grouped by items of a rollup.
type grouping struct {
	table     string
	dimension dimension
	hasPart   bool   // an item's name has two columns
	amount    string // SQL by which items are ordered
	sums      string // SQL of the sums
	scan      func(row database.Scanner, before ...any) (int64, error)
	number    func(int64) Number
}

func decisionsBy(b *buckets) grouping {
	g := grouping{
		table: "rollup_decision", dimension: ofAgent, hasPart: true, amount: "allowed + asked + held + denied",
		sums: "CAST(SUM(allowed + asked + held + denied) AS BIGINT)", number: count,
		scan: func(row database.Scanner, before ...any) (n int64, err error) {
			err = row.Scan(append(before, &n)...)
			return n, err
		},
	}
	if b.By == "tool" {
		g.dimension = ofTool
	}
	return g
}

func usageBy(b *buckets) grouping {
	g := grouping{
		table: "rollup_usage", dimension: dimension(b.By), amount: "cost_nanos * 1.0",
		sums: sums, number: dollars,
		scan: func(row database.Scanner, before ...any) (int64, error) {
			u, err := scanSums(row, before...)
			return u.CostNanos, err
		},
	}
	if b.Metric == MetricTokens {
		g.amount = "(input_tokens * 1.0 + output_tokens + cache_read + cache_write)"
		g.number = count
		g.scan = func(row database.Scanner, before ...any) (int64, error) {
			u, err := scanSums(row, before...)
			return u.Tokens(), err
		}
	}
	return g
}

// name is SQL of an item's name, for a list of columns and to group by.
func (g *grouping) name() (columns, by string) {
	if g.hasPart {
		return "item, part", "item, part"
	}
	return "item, ''", "item"
}

// itemName is an item of a rollup: of a tool with a server, the server is its part.
type itemName struct{ item, part string }

func (n itemName) String() string {
	if n.part == "" {
		return n.item
	}
	return n.part + "." + n.item
}

// fillTop fills the buckets with the largest items of the whole time, and the rest as one.
func (s *Service) fillTop(ctx context.Context, b *buckets, g grouping) error {
	const where = ` WHERE org_id = $1 AND dimension = $2 AND bucket >= $3 AND bucket < $4`
	args := []any{b.orgID, string(g.dimension), b.first, b.end}
	columns, by := g.name()
	top, err := database.Collect(ctx, s.db, func(row database.Scanner) (n itemName, err error) {
		err = row.Scan(&n.item, &n.part)
		return n, err
	}, fmt.Sprintf(`SELECT %s FROM %s%s GROUP BY %[4]s ORDER BY SUM(%[5]s) DESC, %[4]s LIMIT %[6]d`,
		columns, g.table, where, by, g.amount, topItems), args...)
	if err != nil || len(top) == 0 {
		return err
	}
	rest := make([]int64, len(b.all))
	if err := each(ctx, s.db, func(row database.Scanner) error {
		var hour int64
		n, err := g.scan(row, &hour)
		if err == nil {
			rest[(hour-b.first)/b.width] = n
		}
		return err
	}, fmt.Sprintf(`SELECT %s, %s FROM %s%s GROUP BY 1`, b.bucket(), g.sums, g.table, where), args...); err != nil {
		return err
	}
	shown, err := s.readItems(ctx, b, g, top, where, args)
	if err != nil {
		return err
	}
	for i, items := range shown {
		for name, n := range items {
			b.all[i].Values[name] = g.number(n)
			rest[i] -= n
		}
		if rest[i] != 0 {
			b.all[i].Values[otherItems] = g.number(rest[i])
		}
	}
	return nil
}

// readItems reads the amounts of some items, by bucket and name.
func (s *Service) readItems(
	ctx context.Context, b *buckets, g grouping, items []itemName, where string, args []any,
) ([]map[string]int64, error) {
	found := make([]map[string]int64, len(b.all))
	for i := range found {
		found[i] = map[string]int64{}
	}
	var these []string
	for _, n := range items {
		args = append(args, n.item)
		this := fmt.Sprintf(`item = $%d`, len(args))
		if g.hasPart {
			args = append(args, n.part)
			this += fmt.Sprintf(` AND part = $%d`, len(args))
		}
		these = append(these, this)
	}
	columns, by := g.name()
	err := each(ctx, s.db, func(row database.Scanner) error {
		var hour int64
		var name itemName
		n, err := g.scan(row, &hour, &name.item, &name.part)
		if err == nil && n != 0 {
			found[(hour-b.first)/b.width][name.String()] += n
		}
		return err
	}, fmt.Sprintf(`SELECT %s, %s, %s FROM %s%s AND (%s) GROUP BY 1, %s`,
		b.bucket(), columns, g.sums, g.table, where, strings.Join(these, " OR "), by), args...)
	return found, err
}

// Denial counts the denials of a policy, or of a part of Writ, by one rule.
type Denial struct {
	DecidedBy, Rule string
	Count           int64
	LastIndex       int64 // of the latest, in the log
}

// Denials are what denied calls in a period.
type Denials struct {
	Items    []Denial // the most first
	Total    int64    // also of what is not among the items
	Complete bool     // everything of the period is counted
}

// maxDenials is how many pairs of decider and rule are listed.
const maxDenials = 100

// Denials counts denials by what decided. The period is that of an aggregate, whole hours.
func (s *Service) Denials(ctx context.Context, orgID string, p Period) (d Denials, err error) {
	h := s.hoursOf(p)
	const where = ` FROM rollup_decision WHERE org_id = $1 AND dimension = 'denial' AND bucket >= $2 AND bucket < $3`
	d.Items, err = database.Collect(ctx, s.db, func(row database.Scanner) (x Denial, err error) {
		err = row.Scan(&x.DecidedBy, &x.Rule, &x.Count, &x.LastIndex)
		return x, err
	}, fmt.Sprintf(`
		SELECT item, part, CAST(SUM(denied) AS BIGINT) AS denials, MAX(last_position)%s
		GROUP BY item, part
		ORDER BY denials DESC, item, part
		LIMIT %d`, where, maxDenials), orgID, h.first, h.end)
	if err == nil {
		err = s.db.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(denied), 0) AS BIGINT)`+where, orgID, h.first,
			h.end).Scan(&d.Total)
	}
	if err != nil {
		return Denials{}, fmt.Errorf("count denials: %w", err)
	}
	since, err := s.countedSince(ctx, orgID)
	wanted := floor(database.Micros(p.start(s.db.Now())), hourMicros)
	d.Complete = wanted >= h.first && wanted*hourMicros >= since
	if h.end != math.MaxInt64 {
		d.Complete = d.Complete && h.end*hourMicros <= database.Micros(s.db.Now())
	}
	return d, err
}
