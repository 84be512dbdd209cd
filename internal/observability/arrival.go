package observability

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"writ/internal/database"
)

// Place is where someone stands who follows what an organization receives: behind
// the trace of a row that arrived, or grew, at an instant. Places are compared by
// the instant first. The zero Place is before everything that is kept.
type Place struct {
	At  time.Time // to the microsecond
	Row int64
}

// Compare orders places.
func (p Place) Compare(other Place) int {
	return cmp.Or(p.At.Compare(other.At), cmp.Compare(p.Row, other.Row))
}

// micros is the instant as it is stored.
func (p Place) micros() int64 {
	if p.At.IsZero() {
		return 0
	}
	return database.Micros(p.At)
}

// Arrival is a trace as it is since it arrived, or since it last grew.
type Arrival struct {
	TraceItem
	Place
	Grew bool // it was there before, and got more spans
}

// settleTime is after how long nothing comes any more between what is there: a
// change is committed within five seconds of its queueing or fails, and replicas'
// clocks differ a little.
const settleTime = 6 * time.Second

// MaxArrivals is how many arrivals are read at a time.
const MaxArrivals = 500

// Arrived reads what an organization received after a place, in order, each once:
// it keeps back what is so new that a slower commit could still come before it. The
// Place it gives is where to go on. It is for those who remember how far they are;
// a Follower tells things at once.
//
// A trace that grew is given again, as a whole; Arrival.NewSpans tells which of its
// spans are new to who stood at a place.
func (s *Service) Arrived(ctx context.Context, orgID string, after Place, limit int) ([]Arrival, Place, error) {
	settled := database.Micros(s.db.Now().Add(-settleTime))
	arrivals, err := database.Collect(ctx, s.db, scanArrival, settledQuery, orgID, after.micros(), after.Row, settled, min(max(limit, 1), MaxArrivals))
	if err != nil {
		return nil, after, fmt.Errorf("read what arrived: %w", err)
	}
	if len(arrivals) > 0 {
		after = arrivals[len(arrivals)-1].Place
	}
	return arrivals, after, nil
}

const (
	// arrivedAt is when a trace arrived or last grew, as the index says it.
	arrivedAt = `COALESCE(grown_at, pk >> 10)`
	// arrivedAfter is $1's traces behind the place $2, $3, as the index finds them.
	arrivedAfter = `org_id = $1 AND ` + arrivedAt + ` >= $2 AND (` + arrivedAt + ` > $2 OR pk > $3)`

	arrivalSelect = `SELECT ` + traceSelect + `, ` + arrivedAt + `, grown_at IS NOT NULL FROM trace WHERE `
	settledQuery  = arrivalSelect + arrivedAfter + ` AND ` + arrivedAt + ` <= $4 ORDER BY ` + arrivedAt + `, pk LIMIT $5`
)

func scanArrival(row database.Scanner) (a Arrival, err error) {
	var at int64
	a.TraceItem, err = scanTrace(withMore{row, []any{&at, &a.Grew}})
	a.Place = Place{At: database.Time(at), Row: a.pk}
	return a, err
}

// withMore is a row that has further columns behind those its reader knows.
type withMore struct {
	database.Scanner
	more []any
}

func (w withMore) Scan(dest ...any) error { return w.Scanner.Scan(append(dest, w.more...)...) }

// ArrivedSpan is a span with its number in its trace. Numbers rise, with gaps.
type ArrivedSpan struct {
	StoredSpan
	Number int64
}

// NewSpans is the number behind which the spans of a trace are new to who stood at
// a place: below all of them for a trace that was not there yet.
func (a *Arrival) NewSpans(since Place) int64 {
	received := Place{At: database.Time(receivedAt(a.pk)), Row: a.pk}
	if !a.Grew || received.Compare(since) > 0 {
		return -1
	}
	// Later spans are numbered by their receipt.
	return (since.micros()+1)<<tagBits - 1
}

// ArrivedSpans reads up to limit spans of a trace behind a number, in order.
func (s *Service) ArrivedSpans(ctx context.Context, a *Arrival, after int64, limit int) ([]ArrivedSpan, error) {
	spans, err := database.Collect(ctx, s.db, func(row database.Scanner) (span ArrivedSpan, err error) {
		span.StoredSpan, err = scanSpan(withMore{row, []any{&span.Number}})
		return span, err
	}, `
		SELECT id, COALESCE(parent_id, ''), COALESCE(session_id, ''), kind, name, start_time, end_time, duration_ms, status, attributes, seq
		FROM span
		WHERE received_day = $1 AND trace_pk = $2 AND seq > $3
		ORDER BY seq
		LIMIT $4`, a.receivedDay, a.pk, after, min(max(limit, 1), detailSpans))
	if err != nil {
		return nil, fmt.Errorf("read the spans that arrived: %w", err)
	}
	return spans, nil
}
