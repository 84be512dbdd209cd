package telemetry

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
)

// overlap is how far before the newest arrival a Follower reads again, for what was received before it and committed
// after it. On SQLite one process commits in the order of receipt, and only a change of the clock could disturb that.
func (s *Service) overlap() time.Duration {
	if s.db.Engine() == database.SQLite {
		return 2 * time.Second
	}
	return settleTime
}

// Follower returns what an organization receives as soon as it is stored. What commits late is returned late: each
// scan begins a little before the newest arrival, and the Follower remembers what it has returned of that. Use it in
// one goroutine.
type Follower struct {
	service *Service
	orgID   string
	filter  ArrivalFilter
	newest  Cursor
	seen    map[Cursor]bool
	scanned Cursor // how far the current scan is; zero: none is running
}

// ArrivalFilter chooses traces. Empty fields match everything.
type ArrivalFilter struct {
	AgentID   string
	SessionID string
	Name      string
	Status    string
	Tool      string // of one of the spans
}

// Follow starts after what is stored now.
func (s *Service) Follow(ctx context.Context, orgID string, filter ArrivalFilter) (*Follower, error) {
	f := s.Resume(orgID, filter, Cursor{At: s.db.Now()})
	for {
		fresh, err := f.unseen(ctx, MaxArrivals)
		if err != nil || len(fresh) == 0 {
			return f, err
		}
		f.markSeen(fresh)
	}
}

// Resume starts at a cursor. What was received shortly before may come again: whether it was returned before is not
// known.
func (s *Service) Resume(orgID string, filter ArrivalFilter, after Cursor) *Follower {
	return &Follower{
		service: s,
		orgID:   orgID,
		filter:  filter,
		newest:  after,
		seen:    map[Cursor]bool{},
	}
}

// Cursor is where to resume.
func (f *Follower) Cursor() Cursor { return f.newest }

// Next returns what arrived since the last call: up to limit traces, of which those that do not match the filter are
// left out. more says that there may be more. Attributes and tags are left out, because they can be large.
func (f *Follower) Next(ctx context.Context, limit int) (arrived []Arrival, more bool, err error) {
	fresh, err := f.unseen(ctx, min(max(limit, 1), MaxArrivals))
	if err != nil || len(fresh) == 0 {
		return nil, false, err
	}
	all, err := f.service.arrivals(ctx, f.orgID, fresh)
	if err != nil {
		return nil, false, err
	}
	for i := range all {
		fits, err := f.matches(ctx, &all[i])
		if err != nil {
			return nil, false, err
		}
		if fits {
			arrived = append(arrived, all[i])
		}
	}
	f.markSeen(fresh)
	return arrived, true, nil
}

// arrivalSelect is traceSelect without the columns that can be large.
const arrivalSelect = `received_day, pk, id, COALESCE(session_id, ''), name, start_time, end_time, duration_ms, status, COALESCE(user_id, ''),
	agent_id, product, source, '{}', '[]', input_preview, output_preview,
	input_tokens, output_tokens, cache_read, cache_write, cost_nanos, span_count, error_count, growth`

// unseen finds up to limit arrivals that were not returned yet, in order. A scan that finds more continues there next
// time; what commits late is found by the next scan.
func (f *Follower) unseen(ctx context.Context, limit int) (fresh []arrivalRow, err error) {
	// Replicas' clocks differ: include what is dated a little ahead.
	until := f.service.db.Now().Add(time.Hour)
	if f.scanned == (Cursor{}) {
		f.scanned.At = f.newest.At.Add(-f.service.overlap())
	}
	for {
		found, err := f.service.findArrivals(ctx, f.orgID, f.scanned, until, MaxArrivals)
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			if f.scanned = l.Cursor; !f.seen[l.Cursor] {
				fresh = append(fresh, l)
			}
			if len(fresh) == limit {
				return fresh, nil
			}
		}
		if len(found) < MaxArrivals {
			f.scanned = Cursor{}
			return fresh, nil
		}
	}
}

// markSeen remembers arrivals as long as a scan may find them again.
func (f *Follower) markSeen(fresh []arrivalRow) {
	before := f.newest
	for _, l := range fresh {
		f.seen[l.Cursor] = true
		if l.Compare(f.newest) > 0 {
			f.newest = l.Cursor
		}
	}
	if f.newest == before {
		return
	}
	from := f.newest.At.Add(-f.service.overlap())
	for cursor := range f.seen {
		if cursor.At.Before(from) {
			delete(f.seen, cursor)
		}
	}
}

func (f *Follower) matches(ctx context.Context, a *Arrival) (bool, error) {
	for _, want := range []struct{ wanted, is string }{
		{f.filter.AgentID, a.AgentID}, {f.filter.SessionID, a.SessionID}, {f.filter.Name, a.Name},
		{f.filter.Status, a.Status},
	} {
		if want.wanted != "" && want.wanted != want.is {
			return false, nil
		}
	}
	if f.filter.Tool == "" {
		return true, nil
	}
	return f.service.usesTool(ctx, a, f.filter.Tool)
}

// usesTool reports whether a span that came with an arrival is of a tool.
func (s *Service) usesTool(ctx context.Context, a *Arrival, tool string) (found bool, err error) {
	if !storable(tool) {
		return false, nil
	}
	var spans int64
	err = s.db.QueryRow(ctx, `
		SELECT count(*) FROM (
			SELECT tool_name FROM span
			WHERE received_day = $1 AND trace_pk = $2 AND seq > $3 AND seq <= $4
			ORDER BY seq
			LIMIT $5
		) AS brought
		WHERE tool_name = $6`, a.receivedDay, a.pk, a.after, a.last, detailSpans, tool).Scan(&spans)
	if err != nil {
		return false, fmt.Errorf("search for a tool: %w", err)
	}
	return spans > 0, nil
}
