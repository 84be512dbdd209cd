package telemetry

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/wordindex"
)

// FoundTrace is a trace that words have found.
type FoundTrace struct {
	TraceItem
	ReceivedAt time.Time
}

// Number orders traces that were received at the same time.
func (t *FoundTrace) Number() int64 { return t.pk }

// SearchTraces finds traces of an organization by words, received at a time or before, newest first.
func (s *Service) SearchTraces(
	ctx context.Context, orgID string, q wordindex.Query, until time.Time, limit int,
) ([]FoundTrace, error) {
	found := []FoundTrace{}
	for before := (database.Micros(until) + 1) << tagBits; len(found) < limit; {
		want := limit - len(found)
		keys, err := traceWords.Find(ctx, s.db, s.db.Engine(), orgID, q, before, want)
		if err != nil {
			return nil, fmt.Errorf("search traces: %w", err)
		}
		for _, pk := range keys {
			t, err := s.readFound(ctx, orgID, pk)
			if err != nil {
				return nil, err
			}
			if t != nil {
				found = append(found, *t)
			}
		}
		if len(keys) < want {
			break
		}
		before = keys[len(keys)-1]
	}
	return found, nil
}

// readFound reads a trace by its key; nil: retention has removed it, or will.
func (s *Service) readFound(ctx context.Context, orgID string, pk int64) (*FoundTrace, error) {
	day := traceWords.DayOf(pk)
	if day < s.firstKeptDay() {
		return nil, nil
	}
	t, err := scanTrace(s.db.Prepared().QueryRow(ctx,
		`SELECT `+traceSelect+` FROM trace WHERE received_day = $1 AND pk = $2 AND org_id = $3`, day, pk, orgID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a trace that was found: %w", err)
	}
	return &FoundTrace{t, database.Time(receivedAt(pk))}, nil
}

// Indexing reports whether traces of an organization have waited to be indexed for a while. That others wait is not
// told.
func (s *Service) Indexing(ctx context.Context, orgID string) (bool, error) {
	before := database.Micros(s.db.Now().Add(-indexSettled)) << tagBits
	var waits bool
	err := s.db.Prepared().QueryRow(ctx,
		`SELECT EXISTS (SELECT 1 FROM search_trace_queue WHERE org_id = $1 AND doc < $2)`, orgID, before).Scan(&waits)
	if err != nil {
		return false, fmt.Errorf("look for traces that wait to be indexed: %w", err)
	}
	return waits, nil
}

// minIDDigits is how much of a trace id finds it. Ids that clients make of the time begin alike.
const minIDDigits = 8

// TracesByID finds traces whose id begins with a text, in the order of their ids.
func (s *Service) TracesByID(ctx context.Context, orgID, begin string, limit int) ([]FoundTrace, error) {
	digits := strings.ToLower(strings.ReplaceAll(begin, "-", ""))
	if len(digits) < minIDDigits || len(digits) > hex.EncodedLen(idBytes) {
		return nil, nil
	}
	from, err := hex.DecodeString(digits + strings.Repeat("0", hex.EncodedLen(idBytes)-len(digits)))
	if err != nil {
		return nil, nil // no id
	}
	to, err := hex.DecodeString(digits + strings.Repeat("f", hex.EncodedLen(idBytes)-len(digits)))
	if err != nil {
		return nil, nil
	}
	keys, err := database.Collect(ctx, s.db, scanKey,
		`SELECT pk FROM trace_key WHERE org_id = $1 AND id >= $2 AND id <= $3 ORDER BY id LIMIT $4`, orgID, from, to,
		limit)
	if err != nil {
		return nil, fmt.Errorf("find traces by their ids: %w", err)
	}
	var found []FoundTrace
	for _, pk := range keys {
		t, err := s.readFound(ctx, orgID, pk)
		if err != nil {
			return nil, err
		}
		if t != nil {
			found = append(found, *t)
		}
	}
	return found, nil
}

// idBytes is the length of a trace id.
const idBytes = 16
