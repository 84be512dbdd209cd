package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// Cursor is the position of a reader who follows what an organization receives: after the trace of a row that arrived,
// or grew, at a time. Cursors are ordered by time first. The zero Cursor is before everything that is stored.
type Cursor struct {
	At  time.Time // to the microsecond
	Row int64
}

// Compare orders cursors.
func (p Cursor) Compare(other Cursor) int {
	return cmp.Or(p.At.Compare(other.At), cmp.Compare(p.Row, other.Row))
}

// micros is the time as it is stored.
func (p Cursor) micros() int64 {
	if p.At.IsZero() {
		return 0
	}
	return database.Micros(p.At)
}

// Arrival is a trace that arrived, or got more spans, in its present state.
type Arrival struct {
	TraceItem
	Cursor
	Grew bool // it was there before

	own         bool
	after, last int64 // numbers of the spans it brought: above after, up to last
}

// settleTime is the age from which nothing can be inserted in between any more: a change is committed within five
// seconds of its queueing or fails, and replicas' clocks differ a little.
const settleTime = 6 * time.Second

// MaxArrivals is how many arrivals are read at a time.
const MaxArrivals = 500

// Arrived reads what an organization received after a cursor, in order, each once, and returns the cursor to continue
// from. It withholds what is so new that a slower commit could still come before it. Attributes are left out, as in
// Follower.Next. It is for readers that store their cursor; a Follower sees things at once.
func (s *Service) Arrived(ctx context.Context, orgID string, after Cursor, limit int) ([]Arrival, Cursor, error) {
	settled := s.db.Now().Add(-settleTime)
	found, err := s.findArrivals(ctx, orgID, after, settled, min(max(limit, 1), MaxArrivals))
	if err != nil || len(found) == 0 {
		return nil, after, err
	}
	arrivals, err := s.arrivals(ctx, orgID, found)
	if err != nil {
		return nil, after, err
	}
	return arrivals, found[len(found)-1].Cursor, nil
}

type arrivalRow struct {
	Cursor
	grew        bool
	after, last int64
}

// findArrivals finds what arrived after a cursor and not after a time.
func (s *Service) findArrivals(
	ctx context.Context, orgID string, after Cursor, until time.Time, limit int,
) ([]arrivalRow, error) {
	at, end := after.micros(), database.Micros(until)
	found, err := database.Collect(ctx, s.db, scanArrivalRow, arrivalQuery,
		orgID, at, after.Row, end, limit, receivedDay(at), at<<tagBits, (at+1)<<tagBits, (end+1)<<tagBits)
	if err != nil {
		return nil, fmt.Errorf("find what arrived: %w", err)
	}
	return found, nil
}

// arrivalQuery finds new traces by their keys, which contain the time of receipt, and growth by the rows that record
// it.
const arrivalQuery = `
	SELECT at, trace_pk, first_seq - 1, last_seq, grew
	FROM (
		SELECT * FROM (
			SELECT pk >> 10 AS at, pk AS trace_pk, 0 AS first_seq, pk AS last_seq, 0 AS grew
			FROM trace
			WHERE org_id = $1 AND received_day >= $6 AND pk >= $7 AND (pk >= $8 OR pk > $3) AND pk < $9
			ORDER BY pk
			LIMIT $5
		) AS fresh
		UNION ALL
		SELECT * FROM (
			SELECT at, trace_pk, first_seq, last_seq, 1 AS grew
			FROM trace_growth
			WHERE org_id = $1 AND at >= $2 AND (at > $2 OR trace_pk > $3) AND at <= $4
			ORDER BY at, trace_pk
			LIMIT $5
		) AS grown
	) AS arrived
	ORDER BY at, trace_pk
	LIMIT $5`

func scanArrivalRow(row database.Scanner) (l arrivalRow, err error) {
	var at int64
	var grew int
	err = row.Scan(&at, &l.Row, &l.after, &l.last, &grew)
	l.At, l.grew = database.Time(at), grew == 1
	return l, err
}

// arrivals reads the traces of the rows, in their order, except those that retention has removed in the meantime.
func (s *Service) arrivals(ctx context.Context, orgID string, found []arrivalRow) ([]Arrival, error) {
	days, rows := map[int64]bool{}, map[int64]bool{}
	for _, l := range found {
		days[receivedDay(receivedAt(l.Row))], rows[l.Row] = true, true
	}
	args := []any{orgID}
	for _, n := range slices.Concat(slices.Sorted(maps.Keys(days)), slices.Sorted(maps.Keys(rows))) {
		args = append(args, n)
	}
	traces := map[int64]TraceItem{}
	err := each(ctx, s.db, func(row database.Scanner) error {
		t, err := scanTrace(row)
		traces[t.pk] = t
		return err
	}, fmt.Sprintf(`SELECT %s FROM trace WHERE org_id = $1 AND received_day IN (%s) AND pk IN (%s)`, arrivalSelect,
		marks(2, len(days)), marks(2+len(days), len(rows))), args...)
	if err != nil {
		return nil, fmt.Errorf("read what arrived: %w", err)
	}
	arrived := make([]Arrival, 0, len(found))
	for _, l := range found {
		if t, ok := traces[l.Row]; ok {
			arrived = append(arrived, Arrival{
				TraceItem: t,
				Cursor:    l.Cursor,
				Grew:      l.grew,
				after:     l.after,
				last:      l.last,
			})
		}
	}
	return arrived, s.findOwn(ctx, arrived)
}

// Own reports whether the server itself made the trace, of decisions.
func (a *Arrival) Own() bool { return a.own }

// findOwn marks the server's own traces. Anyone can use their names.
func (s *Service) findOwn(ctx context.Context, arrived []Arrival) error {
	for i := range arrived {
		a := &arrived[i]
		if a.Product != ownProduct || a.Source != ownProduct || a.growth != notGrowing {
			continue
		}
		var err error
		if a.own, err = hasOwnSpans(ctx, s.db, a.receivedDay, a.pk); err != nil {
			return fmt.Errorf("find out who made a trace: %w", err)
		}
	}
	return nil
}

// ArrivedAttributes reads the attributes of one trace, because they may be as large as a request.
func (s *Service) ArrivedAttributes(ctx context.Context, a *Arrival) (attributes string, err error) {
	attributes = "{}" // of a trace that retention has removed in the meantime
	err = scanOptional(s.db.QueryRow(ctx, `SELECT attributes FROM trace WHERE received_day = $1 AND pk = $2`,
		a.receivedDay, a.pk), &attributes)
	if err != nil {
		return "", fmt.Errorf("read the attributes of what arrived: %w", err)
	}
	return attributes, nil
}

const (
	// FirstSpan is below the number of every span.
	FirstSpan int64 = -1
	// WholeSpans is above the numbers of the spans of a trace that came whole, in one batch. Spans of a trace that
	// grows have higher ones.
	WholeSpans = int64(decode.MaxSpans)
)

// ArrivedSpans reads up to limit of the spans that an arrival brought, above a number, in order.
func (s *Service) ArrivedSpans(ctx context.Context, a *Arrival, after int64, limit int) ([]SpanRecord, error) {
	spans, err := database.Collect(ctx, s.db, scanRecord, selectRecord+`trace_pk = $2 AND seq > $3 AND seq <= $4
		ORDER BY seq
		LIMIT $5`, a.receivedDay, a.pk, max(after, a.after), a.last, min(max(limit, 1), detailSpans))
	if err != nil {
		return nil, fmt.Errorf("read the spans that arrived: %w", err)
	}
	return spans, nil
}

// growthRow records that a trace got spans, for those who follow. The spans are numbered by their receipt, above all
// that the trace had.
func growthRow(orgID string, t *storedTrace, first, last int64) []any {
	return []any{orgID, receivedAt(last), t.pk, t.day, first, last}
}

// Their words are read again, too.
func insertGrowths(ctx context.Context, tx *database.Tx, rows [][]any) error {
	queue := make([][]any, len(rows))
	for i, row := range rows { // org_id, at, trace_pk, received_day, first_seq, last_seq
		queue[i] = []any{row[2], row[5], row[0]}
	}
	if _, err := tx.InsertNew(ctx, insertQueue, queue); err != nil {
		return err
	}
	return tx.Insert(ctx, `INSERT INTO trace_growth (org_id, at, trace_pk, received_day, first_seq, last_seq)`, rows, "")
}

// lastNumber is when a trace got its last span, by its number, or was received. The trace must be locked.
func lastNumber(ctx context.Context, tx *database.Tx, day, pk int64) (at int64, err error) {
	err = tx.QueryRow(ctx, `SELECT COALESCE(MAX(seq), 0) FROM span WHERE received_day = $1 AND trace_pk = $2`, day,
		pk).Scan(&at)
	return receivedAt(max(at, pk)), err
}
