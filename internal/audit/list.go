package audit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
)

// Filter chooses entries of a log. An empty member does not narrow.
type Filter struct {
	From  time.Time // recorded then or later
	Until time.Time // recorded before

	// These find changes. Decisions are not among them unless the action is Decided or
	// Verified, or a member below is set too: decisions are nearly all entries, and no
	// index holds them by their caller.
	Action  string
	Actor   string // id of the person or key
	Subject Subject

	// These find decisions.
	Agent    string
	Tool     string
	Server   string
	Verdict  string
	Verdicts []string // any of these; beside Verdict it does not count
	Plan     string
	Session  string
	// Policy is what decided, and Rule its rule. They find refusals: everything but allow.
	Policy, Rule string

	Cursor string
	Limit  int // page.DefaultLimit unless set
}

// The actions of decisions.
const (
	Decided  = "call.decided"
	Verified = "step.verified" // about a step of a plan, before its call was sent
)

// listName binds the cursors of the list.
const listName = "audit-entries"

// Entries is a page of a log's entries, newest first. Each says if it was altered.
func (s *Service) Entries(ctx context.Context, log string, f Filter) (page.Page[Stored], error) {
	if f.Limit == 0 {
		f.Limit = page.DefaultLimit
	}
	if f.Limit < 0 || f.Limit > page.MaxLimit {
		return page.Page[Stored]{}, fault.Field("limit", "must be from 1 to %d", page.MaxLimit)
	}
	if err := f.check(); err != nil {
		return page.Page[Stored]{}, err
	}
	q := &entryQuery{engine: s.db.Engine(), args: []any{log}}
	q.narrow(f)
	if err := q.after(f.Cursor, log); err != nil {
		return page.Page[Stored]{}, err
	}
	entries, err := database.Collect(ctx, s.db, scanEntry, q.text(f.Limit+1), q.args...)
	if err != nil {
		return page.Page[Stored]{}, fmt.Errorf("list the entries of log %s: %w", log, err)
	}
	if err := s.mark(ctx, log, entries); err != nil {
		return page.Page[Stored]{}, err
	}
	return page.Of(entries, f.Limit, func(e Stored) page.Cursor {
		return page.Cursor{List: listName, Scope: log, Micros: e.Time, ID: strconv.FormatInt(e.Index, 10)}
	}), nil
}

// EntriesAt are the entries of a log at some positions, in their order. Each says if it was altered.
func (s *Service) EntriesAt(ctx context.Context, log string, positions []int64) ([]Stored, error) {
	if len(positions) == 0 {
		return nil, nil
	}
	args, marks := []any{log}, make([]string, len(positions))
	for i, position := range positions {
		args = append(args, position)
		marks[i] = "$" + strconv.Itoa(len(args))
	}
	entries, err := database.Collect(ctx, s.db, scanEntry, selectEntry+`
		WHERE log = $1 AND position IN (`+strings.Join(marks, ", ")+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("read entries of log %s: %w", log, err)
	}
	slices.SortFunc(entries, func(a, b Stored) int {
		return slices.Index(positions, a.Index) - slices.Index(positions, b.Index)
	})
	return entries, s.mark(ctx, log, entries)
}

// check refuses what no index can answer.
func (f *Filter) check() error {
	switch {
	case f.Rule != "" && f.Policy == "":
		return fault.Field("rule", "must be beside policy: other policies may have a rule of this name")
	case f.Policy != "" && (f.Verdict == "allow" || slices.Contains(f.Verdicts, "allow")):
		return fault.Field("decision", "must not be allow beside policy, which finds refusals")
	}
	return nil
}

// Latest are the newest entries of a log that fit a filter, newest first. It also reads
// within a transaction, for a decision that depends on what was done before. The
// filter's cursor, limit, policy and rule do not count.
func Latest(ctx context.Context, r database.Reader, log string, f Filter, most int) ([]Stored, error) {
	f.Policy, f.Rule = "", ""
	q := &entryQuery{args: []any{log}}
	q.narrow(f)
	entries, err := database.Collect(ctx, r, scanEntry, q.text(most), q.args...)
	if err != nil {
		return nil, fmt.Errorf("read the latest entries of log %s: %w", log, err)
	}
	return entries, nil
}

// Position is between two entries of a log. The zero value is behind the last.
type Position struct{ micros, index int64 }

// Before is the position before an entry.
func (e *Stored) Before() Position { return Position{e.Time, e.Index} }

// DecisionsBefore reads up to limit decisions that were recorded since an instant and
// stand before a position, newest first; of one agent, if one is named.
func DecisionsBefore(
	ctx context.Context, r database.Reader, log, agent string, since time.Time, at Position, limit int,
) ([]Stored, error) {
	q := &entryQuery{args: []any{log}}
	q.narrow(Filter{From: since, Agent: agent})
	q.and("verdict IS NOT NULL")
	if at != (Position{}) {
		q.and("(recorded_at, position) < (?, ?)", at.micros, at.index)
	}
	entries, err := database.Collect(ctx, r, scanEntry, q.text(limit), q.args...)
	if err != nil {
		return nil, fmt.Errorf("read the latest decisions of log %s: %w", log, err)
	}
	return entries, nil
}

// entryQuery collects conditions and their arguments.
type entryQuery struct {
	engine database.Engine // only where a filter names a policy
	where  strings.Builder
	args   []any
	// choices are conditions of which an entry meets one. Each has an index that gives its
	// newest entries, so that nothing is sorted.
	choices []string
}

// text is the query for a number of rows.
func (q *entryQuery) text(rows int) string {
	end := ` ORDER BY recorded_at DESC, position DESC LIMIT ` + strconv.Itoa(rows)
	one := func(choice string) string { return selectEntry + `WHERE log = $1` + q.where.String() + choice + end }
	if len(q.choices) == 0 {
		return one("")
	}
	var parts []string
	for i, choice := range q.choices {
		parts = append(parts, fmt.Sprintf(`SELECT * FROM (%s) AS choice_%d`, one(` AND `+choice), i))
	}
	return `SELECT * FROM (` + strings.Join(parts, ` UNION ALL `) + `) AS choices` + end
}

// and adds a condition; every ? in it is the next argument.
func (q *entryQuery) and(condition string, args ...any) {
	q.where.WriteString(" AND ")
	for _, arg := range args {
		q.args = append(q.args, arg)
		condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(q.args)), 1)
	}
	q.where.WriteString(condition)
}

func (q *entryQuery) equal(column, value string) {
	if value != "" {
		q.and(column+" = ?", found(value))
	}
}

func (q *entryQuery) narrow(f Filter) {
	if f.Verdict == "" && len(f.Verdicts) == 1 {
		f.Verdict = f.Verdicts[0]
	}
	if !f.From.IsZero() {
		q.and("recorded_at >= ?", database.Micros(f.From))
	}
	if !f.Until.IsZero() {
		q.and("recorded_at < ?", database.Micros(f.Until))
	}
	subject := subjectText(f.Subject)
	q.equal("action", f.Action)
	q.equal("actor", f.Actor)
	q.equal("subject", subject)
	q.equal("agent", f.Agent)
	q.equal("tool", f.Tool)
	q.equal("server", f.Server)
	q.equal("plan", f.Plan)
	q.equal("session", f.Session)
	q.equal("verdict", f.Verdict)
	q.narrowDecider(f)
	q.narrowVerdicts(f)
	switch {
	case f.Verdict != "" && f.Verdict != "allow" || f.Policy != "":
		q.and("verdict <> 'allow'") // for the indexes of refusals
	case f.findsDecisions() || f.Action+f.Actor+subject == "":
	case f.Action == Decided:
		q.and("verdict IS NOT NULL") // nearly all entries: the index by time finds them
	case f.Action == Verified:
		q.and("action = 'step.verified'") // for their index
	default:
		q.and("verdict IS NULL") // for the indexes of changes
	}
}

// findsDecisions reports whether a filter is about decisions.
func (f *Filter) findsDecisions() bool {
	return f.Agent+f.Tool+f.Server+f.Verdict+f.Plan+f.Session+f.Policy != "" || len(f.Verdicts) > 0
}

// narrowDecider looks into the record, by the expression of its index.
func (q *entryQuery) narrowDecider(f Filter) {
	member := func(name, value string) {
		expression := fmt.Sprintf(`json_extract(record, '$.%s')`, name)
		if q.engine == database.PostgreSQL {
			expression = fmt.Sprintf(`(record::json ->> '%s')`, name)
		}
		if value != "" {
			q.and(expression+" = ?", found(value))
		}
	}
	member("policy", f.Policy)
	member("rule", f.Rule)
}

// narrowVerdicts has each refusal looked up for itself, unless another filter leaves few
// entries. Nearly all entries allow: with these, the index by time finds the rest too.
func (q *entryQuery) narrowVerdicts(f Filter) {
	if f.Verdict != "" || len(f.Verdicts) == 0 {
		return
	}
	var each []string
	for _, verdict := range f.Verdicts {
		q.args = append(q.args, verdict)
		each = append(each, "$"+strconv.Itoa(len(q.args)))
	}
	if slices.Contains(f.Verdicts, "allow") || f.Agent+f.Tool+f.Server+f.Plan+f.Session+f.Policy != "" {
		q.and("verdict IN (" + strings.Join(each, ", ") + ")")
		return
	}
	for _, mark := range each {
		q.choices = append(q.choices, "verdict = "+mark+" AND verdict <> 'allow'")
	}
}

// after continues behind the cursor.
func (q *entryQuery) after(text, log string) error {
	cursor, err := page.Decode(text, listName, log)
	if err != nil || cursor.IsZero() {
		return err
	}
	position, err := strconv.ParseInt(cursor.ID, 10, 64)
	if err != nil {
		return fault.New(fault.Invalid, "Invalid cursor")
	}
	q.and("(recorded_at, position) < (?, ?)", cursor.Micros, position)
	return nil
}
