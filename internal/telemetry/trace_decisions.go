package telemetry

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"writ/internal/database"
)

// TraceDecisions is which decisions belong to a trace.
type TraceDecisions struct {
	Own bool // the server made the trace, of these decisions: see OwnDecisions

	// Otherwise they are those of the session, from when the trace began until it ended. Without a session, none.
	SessionID  string
	From, Last time.Time
}

// TraceDecisions says which decisions belong to a trace; nil: the organization has no such trace.
func (s *Service) TraceDecisions(ctx context.Context, orgID, id string) (*TraceDecisions, error) {
	item, err := s.findTrace(ctx, orgID, id)
	if err != nil || item == nil {
		return nil, err
	}
	own, err := s.isOwn(ctx, item)
	if err != nil || own {
		return &TraceDecisions{Own: own}, err
	}
	d := &TraceDecisions{SessionID: item.SessionID, From: item.Start, Last: item.Start}
	switch {
	case item.End != nil:
		d.Last = *item.End
	case item.DurationMs != nil:
		d.Last = item.Start.Add(time.Duration(*item.DurationMs) * time.Millisecond)
	default:
		var last sql.NullInt64
		if err := s.db.QueryRow(ctx, `
			SELECT MAX(COALESCE(end_time, start_time)) FROM span WHERE received_day = $1 AND trace_pk = $2`,
			item.receivedDay, item.pk).Scan(&last); err != nil {
			return nil, fmt.Errorf("find out when a trace ended: %w", err)
		}
		if end := database.OptionalTime(last); end != nil && end.After(d.Last) {
			d.Last = *end
		}
	}
	return d, nil
}

// DecidedSpan is a span that shows a decision: its number in the trace, and the index in the log; nil: not known.
type DecidedSpan struct {
	Number int64
	Index  *int64
}

// OwnDecisions are the decisions that a trace of the server shows, in the order of their spans, after a number.
func (s *Service) OwnDecisions(ctx context.Context, orgID, id string, after int64, limit int) ([]DecidedSpan, error) {
	item, err := s.findTrace(ctx, orgID, id)
	if err != nil || item == nil {
		return nil, err
	}
	found, err := database.Collect(ctx, s.db, func(row database.Scanner) (DecidedSpan, error) {
		span, err := scanOutlined(true)(row)
		return DecidedSpan{span.number, span.Index}, err
	}, selectOutlined(true)+` AND seq > $3 AND kind = '`+policyCall+`'
		AND COALESCE(policy_id, '') NOT LIKE '`+ShadowPrefix+`%'
		ORDER BY seq LIMIT $4`, item.receivedDay, item.pk, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read which decisions a trace shows: %w", err)
	}
	return found, nil
}
