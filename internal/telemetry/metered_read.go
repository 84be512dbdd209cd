package telemetry

import (
	"context"
	"fmt"
	"math"
	"time"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// MeteredQuery asks what was used in days or months, UTC: from the one that From is in to the one before Until.
type MeteredQuery struct {
	From, Until time.Time
	Monthly     bool
	Behind      time.Duration // how far counted decisions may lag
}

// MaxPeriods is how many days or months one query has at most.
const MaxPeriods = 400

// Metered is what was used in a day or month.
type Metered struct {
	At        time.Time
	Decisions Verdicts
	Spans     int64 // that clients sent
	Usage     Usage
	Agents    int64 // about which there were decisions
	// StoredBytes are those of the texts of traces and spans that retention kept at its end, or keeps now.
	StoredBytes int64
	// Complete: it is over, and everything of it is counted.
	Complete bool
}

// Periods are the beginnings of the query's days or months, and the end of the last.
func (q MeteredQuery) Periods() (begins []time.Time, end time.Time) {
	at := q.first()
	for ; at.Before(q.Until) && len(begins) <= MaxPeriods; at = q.next(at) {
		begins = append(begins, at)
	}
	return begins, at
}

func (q MeteredQuery) first() time.Time {
	from := q.From.UTC()
	day := from.Day()
	if q.Monthly {
		day = 1
	}
	return time.Date(from.Year(), from.Month(), day, 0, 0, 0, 0, time.UTC)
}

func (q MeteredQuery) next(at time.Time) time.Time {
	if q.Monthly {
		return at.AddDate(0, 1, 0)
	}
	return at.AddDate(0, 0, 1)
}

// MeteredOf is what an organization used.
func (s *Service) MeteredOf(ctx context.Context, orgID string, q MeteredQuery) ([]Metered, error) {
	if orgID == "" {
		return nil, fmt.Errorf("what no organization used was asked for")
	}
	return s.meter(ctx, q, `org_id = $1`, orgID)
}

// MeteredByAll is what all organizations used together.
func (s *Service) MeteredByAll(ctx context.Context, q MeteredQuery) ([]Metered, error) {
	return s.meter(ctx, q, `$1 = ''`, "")
}

func (s *Service) meter(ctx context.Context, q MeteredQuery, of string, orgID string) (all []Metered, err error) {
	begins, end := q.Periods()
	if len(begins) == 0 {
		return nil, nil
	}
	first, last := hourOf(begins[0]), hourOf(end)
	keep := int64(math.Ceil(s.keep.Hours()/24)) * 24
	days := map[int64]metered{}
	if err := readMetered(ctx, s.db, of, []any{orgID, first - keep, last}, days); err != nil {
		return nil, fmt.Errorf("read what was used: %w", err)
	}
	all = s.sumPeriods(begins, end, days)
	if err := s.countAgents(ctx, q, of, orgID, all); err != nil {
		return nil, err
	}
	since, err := s.meteredSince(ctx, of, orgID)
	if err != nil {
		return nil, err
	}
	until := s.db.Now().Add(-q.Behind)
	for i := range all {
		all[i].Complete = database.Micros(all[i].At) >= since && !q.next(all[i].At).After(until)
	}
	return all, nil
}

func hourOf(at time.Time) int64 { return floor(database.Micros(at), hourMicros) }

// readMetered adds up days; the arguments are the organization, the first hour and the end.
func readMetered(ctx context.Context, r database.Reader, of string, args []any, days map[int64]metered) error {
	return each(ctx, r, func(row database.Scanner) error {
		var bucket int64
		var m metered
		u, err := scanSums(row, &bucket, &m.Allowed, &m.Asked, &m.Held, &m.Denied, &m.spans, &m.bytes)
		m.usage = u
		days[bucket] = m
		return err
	}, `
		SELECT bucket, `+sumVerdicts+`, CAST(SUM(spans) AS BIGINT), CAST(SUM(bytes) AS BIGINT), `+sums+`
		FROM metered_day
		WHERE `+of+` AND bucket >= $2 AND bucket < $3
		GROUP BY bucket`, args...)
}

// sumPeriods adds days up to periods.
func (s *Service) sumPeriods(begins []time.Time, end time.Time, days map[int64]metered) (all []Metered) {
	for i, begin := range begins {
		after := end
		if i+1 < len(begins) {
			after = begins[i+1]
		}
		p := Metered{At: begin}
		for hour := hourOf(begin); hour < hourOf(after); hour += 24 {
			m := days[hour]
			p.Decisions, p.Spans, p.Usage = p.Decisions.add(m.Verdicts), p.Spans+m.spans, p.Usage.Add(m.usage)
		}
		p.StoredBytes = s.storedAt(after, days)
		all = append(all, p)
	}
	return all
}

// storedAt adds up the texts that retention keeps at a time, or now if that is earlier.
func (s *Service) storedAt(at time.Time, days map[int64]metered) (bytes int64) {
	if now := s.db.Now(); now.Before(at) {
		at = now
	}
	micros := database.Micros(at)
	for hour := dayOf(micros - s.keep.Microseconds()); hour < hourOf(at.Add(time.Hour-1)); hour += 24 {
		bytes = decode.Saturate(bytes, days[hour].bytes)
	}
	return bytes
}

// meteredSince is the time since which all decisions are counted.
func (s *Service) meteredSince(ctx context.Context, of, orgID string) (since int64, err error) {
	err = s.db.QueryRow(ctx, `SELECT COALESCE(MAX(counted_since), 0) FROM projected WHERE `+of, orgID).Scan(&since)
	return since, database.Wrap(err, "read since when decisions are counted")
}

// MeteredOrganization is what one organization used in a time.
type MeteredOrganization struct {
	OrgID     string
	Decisions int64
	Spans     int64
	Usage     Usage
}

// MeteredByEach is what organizations used in the days of a query, those with the most decisions first; at most a
// number of them.
func (s *Service) MeteredByEach(ctx context.Context, q MeteredQuery, most int) (all []MeteredOrganization, err error) {
	begins, end := q.Periods()
	if len(begins) == 0 {
		return nil, nil
	}
	err = each(ctx, s.db, func(row database.Scanner) error {
		var m MeteredOrganization
		u, err := scanSums(row, &m.OrgID, &m.Decisions, &m.Spans)
		m.Usage = u
		all = append(all, m)
		return err
	}, `
		SELECT org_id, CAST(SUM(allowed + asked + held + denied) AS BIGINT) AS decisions, CAST(SUM(spans) AS BIGINT) AS sent, `+
		sums+`
		FROM metered_day
		WHERE bucket >= $1 AND bucket < $2
		GROUP BY org_id
		ORDER BY decisions DESC, sent DESC, org_id
		LIMIT $3`, hourOf(begins[0]), hourOf(end), most)
	return all, database.Wrap(err, "read what organizations used")
}
