package telemetry

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"writ/internal/database"
)

// The spans of a trace are read from the database as one text. Hundreds of rows of ten columns would be thousands of
// calls into it, which cost more than everything else.

// What ends a field, and what separates spans. Only kind and name can contain them too, so their lengths come first:
// ids, numbers and statuses cannot, and JSON escapes them.
const (
	fieldEnd     = "\x1f"
	betweenSpans = "\x1e"
)

// selectPacked packs the spans of a trace, in order. NULL becomes empty.
//
// It is written for SQLite: attributes are appended with || because concat would first copy each of them, and the
// limit is no parameter because the statement would be compiled again for each value.
var selectPacked = fmt.Sprintf(`
	SELECT string_agg(packed, '%[2]s')
	FROM (
		SELECT concat(id, '%[1]s', parent_id, '%[1]s', session_id, '%[1]s', start_time, '%[1]s', end_time, '%[1]s', duration_ms, '%[1]s', status, '%[1]s',
			cost_nanos, '%[1]s',
			octet_length(kind), '%[1]s', octet_length(name), '%[1]s', kind, name) || attributes AS packed
		FROM span
		WHERE received_day = $1 AND trace_pk = $2
		ORDER BY seq
		LIMIT %[3]d
	) AS spans`, fieldEnd, betweenSpans, detailSpans)

// errUnreadable means a packed text that this file did not make.
var errUnreadable = errors.New("the packed spans cannot be read")

// unpack reads the result of selectPacked. count is about how many spans there are.
func unpack(text string, count int64) ([]StoredSpan, error) {
	count = max(0, min(count, detailSpans))
	spans := make([]StoredSpan, 0, count)
	u := unpacker{rest: text, ends: make([]time.Time, 0, count), durations: make([]int64, 0, count)}
	for u.rest != "" {
		spans = append(spans, u.span())
		if u.failed {
			return nil, errUnreadable
		}
	}
	return spans, nil
}

// unpacker reads fields from the beginning of a text.
type unpacker struct {
	rest   string
	failed bool

	// What spans point to: one allocation for all of them.
	ends      []time.Time
	durations []int64
}

func (u *unpacker) span() (s StoredSpan) {
	s.ID, s.ParentID, s.SessionID = u.field(), u.field(), u.field()
	s.Start = database.Time(u.number())
	if end, ok := u.optional(); ok {
		u.ends = append(u.ends, database.Time(end))
		s.End = &u.ends[len(u.ends)-1]
	}
	if duration, ok := u.optional(); ok {
		u.durations = append(u.durations, duration)
		s.DurationMs = &u.durations[len(u.durations)-1]
	}
	s.Status = u.field()
	s.CostNanos = u.number()
	kind, name := u.number(), u.number()
	s.Kind, s.Name = u.take(kind), u.take(name)
	s.Attributes, u.rest, _ = strings.Cut(u.rest, betweenSpans)
	return s
}

func (u *unpacker) field() string {
	field, rest, found := strings.Cut(u.rest, fieldEnd)
	u.rest, u.failed = rest, u.failed || !found
	return field
}

func (u *unpacker) number() int64 {
	n, ok := u.optional()
	u.failed = u.failed || !ok
	return n
}

// optional is a number that may be missing.
func (u *unpacker) optional() (n int64, ok bool) {
	field := u.field()
	if field == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(field, 10, 64)
	u.failed = u.failed || err != nil
	return n, true
}

func (u *unpacker) take(length int64) string {
	if length < 0 || length > int64(len(u.rest)) {
		u.failed = true
		return ""
	}
	taken := u.rest[:length]
	u.rest = u.rest[length:]
	return taken
}
