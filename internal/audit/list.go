package audit

import (
	"context"
	"fmt"
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

	// These find changes. Decisions are not among them unless the action is Decided or a
	// member below is set too: decisions are nearly all entries, and no index holds them
	// by their caller.
	Action  string
	Actor   string // id of the person or key
	Subject Subject

	// These find decisions.
	Agent   string
	Tool    string
	Verdict string
	Plan    string

	Cursor string
	Limit  int // page.DefaultLimit unless set
}

// Decided is the action of decisions.
const Decided = "call.decided"

// listName binds the cursors of the list.
const listName = "audit-entries"

// Entries is a page of a log's entries, newest first.
func (s *Service) Entries(ctx context.Context, log string, f Filter) (page.Page[Stored], error) {
	if f.Limit == 0 {
		f.Limit = page.DefaultLimit
	}
	if f.Limit < 0 || f.Limit > page.MaxLimit {
		return page.Page[Stored]{}, fault.Field("limit", "must be from 1 to %d", page.MaxLimit)
	}
	q := &entryQuery{args: []any{log}}
	q.narrow(f)
	if err := q.after(f.Cursor, log); err != nil {
		return page.Page[Stored]{}, err
	}
	entries, err := database.Collect(ctx, s.db, scanEntry, q.text(f.Limit+1), q.args...)
	if err != nil {
		return page.Page[Stored]{}, fmt.Errorf("list the entries of log %s: %w", log, err)
	}
	return page.Of(entries, f.Limit, func(e Stored) page.Cursor {
		return page.Cursor{List: listName, Scope: log, Micros: e.Time, ID: strconv.FormatInt(e.Index, 10)}
	}), nil
}

// Latest are the newest entries of a log that fit a filter, newest first. It also reads
// within a transaction, for a decision that depends on what was done before. The
// filter's cursor and limit do not count.
func Latest(ctx context.Context, r database.Reader, log string, f Filter, most int) ([]Stored, error) {
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
	where strings.Builder
	args  []any
}

// text is the query for a number of rows.
func (q *entryQuery) text(rows int) string {
	return selectEntry + `WHERE log = $1` + q.where.String() + `
		ORDER BY recorded_at DESC, position DESC
		LIMIT ` + strconv.Itoa(rows)
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
	q.equal("verdict", f.Verdict)
	q.equal("plan", f.Plan)
	switch {
	case f.Verdict != "" && f.Verdict != "allow":
		q.and("verdict <> 'allow'") // for the index of refusals
	case f.Agent+f.Tool+f.Verdict+f.Plan != "" || f.Action+f.Actor+subject == "":
	case f.Action == Decided:
		q.and("verdict IS NOT NULL") // nearly all entries: the index by time finds them
	default:
		q.and("verdict IS NULL") // for the indexes of changes
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
