package telemetry

import (
	"context"
	"fmt"
	"math"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
)

// Limit is how many spans an organization may send in a calendar month, UTC.
//
// It is held in the commit that stores spans, so that a burst over many connections and servers gets exactly what is
// left: a batch, or a fragment of a trace that grows, is taken if all of it fits. What is stored already is no use of
// it, however often it is sent.
type Limit struct{ spans int64 }

// limitOf is the limit of an organization; nil: it has none.
func (s *Service) limitOf(ctx context.Context, orgID string) (*Limit, error) {
	if s.spanLimit == nil {
		return nil, nil
	}
	spans, err := s.spanLimit(ctx, orgID)
	if err != nil || spans == nil {
		return nil, err
	}
	return &Limit{*spans}, nil
}

// reached is what a client is told that sent too much.
func (l *Limit) reached(now time.Time) error {
	next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	return fault.New(fault.QuotaReached,
		"the organization's plan has %d spans a month, and what was sent does not fit into what is left: "+
			"an owner or admin can choose a larger plan in the settings, under billing; or send it again from %s on",
		l.spans, next.Format(time.DateOnly))
}

func orReached(err error, l *Limit, now time.Time) error {
	if err != nil {
		return err
	}
	return l.reached(now)
}

// leftIn is how many spans the organization may still send this month, also after what this transaction has stored.
// Other servers wait until it has committed.
func (s *Service) leftIn(ctx context.Context, tx *database.Tx, orgID string, l *Limit) (int64, error) {
	if l == nil {
		return math.MaxInt64, nil
	}
	month := monthOf(database.Micros(tx.Now()))
	stored, err := s.usedIn(ctx, tx, orgID, month)
	if err != nil {
		return 0, err
	}
	left := l.spans - stored
	for day, m := range s.tallyIn(tx, orgID).metered {
		if day >= month {
			left -= m.spans
		}
	}
	return max(left, 0), nil
}

// usedIn is what was stored of a month before this transaction.
func (s *Service) usedIn(ctx context.Context, tx *database.Tx, orgID string, month int64) (used int64, err error) {
	known := s.used.In(tx)
	if *known == nil {
		*known = map[string]int64{}
	}
	if used, ok := (*known)[orgID]; ok {
		return used, nil
	}
	if tx.Engine() == database.PostgreSQL { // SQLite has one writer
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`,
			"telemetry/limit/"+orgID); err != nil {
			return 0, fmt.Errorf("wait for others: %w", err)
		}
	}
	err = tx.QueryRow(ctx, sumSpans, orgID, month).Scan(&used)
	(*known)[orgID] = used
	return used, database.Wrap(err, "count the spans of %s", orgID)
}

const sumSpans = `SELECT CAST(COALESCE(SUM(spans), 0) AS BIGINT) FROM metered_day WHERE org_id = $1 AND bucket >= $2`

// within takes new batches as long as they fit, and gives back the ids of the others.
func (s *Service) within(
	ctx context.Context, tx *database.Tx, orgID string, l *Limit, fresh []freshBatch,
) (taken []freshBatch, refused int, err error) {
	if l == nil || len(fresh) == 0 {
		return fresh, 0, nil
	}
	left, err := s.leftIn(ctx, tx, orgID, l)
	if err != nil {
		return nil, 0, err
	}
	for i, f := range fresh {
		left -= int64(len(f.batch.Spans))
		if left >= 0 && (left > 0 || len(f.batch.Spans) > 0) {
			continue
		}
		keys := []any{orgID}
		for _, r := range fresh[i:] {
			keys = append(keys, uuidBytes(r.batch.Trace.ID))
		}
		_, err := tx.Exec(ctx, `DELETE FROM trace_key WHERE org_id = $1 AND id IN (`+marks(2, len(keys)-1)+`)`, keys...)
		return fresh[:i], len(fresh) - i, database.Wrap(err, "give back trace ids")
	}
	return fresh, 0, nil
}
