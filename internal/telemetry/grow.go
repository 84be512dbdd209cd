package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// GrowingTrace is a trace of the server itself that is not complete when it is first stored: more spans come later,
// under the same id. It has no duration, because its end is not known, and it is denied if any of its spans is.
type GrowingTrace struct {
	ID      string
	Name    string
	Source  string
	UserID  string // a UUID, or empty
	AgentID string
	Spans   []GrownSpan
}

// GrownSpan is a span that is added once to a growing trace.
type GrownSpan struct {
	ID         string
	SessionID  string // a UUID, or empty
	Kind       string
	Name       string
	Start, End time.Time // their difference is the duration, to the microsecond
	Denied     bool
	Attributes string // a JSON object

	PolicyID, PolicyName, Decision, RuleID string
}

// Position is how much of an organization's log is in telemetry.
type Position struct {
	Next  int64 // the first entry that was not read
	Epoch int64
	// Counted is the entry from which on decisions are counted; earlier ones follow, backwards.
	Counted int64
}

// Positions returns the positions of all organizations that have one.
func (s *Service) Positions(ctx context.Context) (map[string]Position, error) {
	positions := map[string]Position{}
	err := each(ctx, s.db, func(row database.Scanner) error {
		var orgID string
		var p Position
		err := row.Scan(&orgID, &p.Next, &p.Epoch, &p.Counted)
		positions[orgID] = p
		return err
	}, `SELECT org_id, position, epoch, counted_from FROM projected`)
	if err != nil {
		return nil, fmt.Errorf("read the positions of logs: %w", err)
	}
	return positions, nil
}

// Grow adds to traces what a log contains between two positions, counts its decisions, and moves the organization's
// position. If someone else has moved it first, nothing is added and moved is false.
func (s *Service) Grow(
	ctx context.Context, orgID string, from, to Position, traces []GrowingTrace, decisions []Decided,
) (moved bool, err error) {
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		if moved, err = movePosition(ctx, tx, orgID, from, to); err != nil || !moved {
			return err
		}
		for i := range traces {
			if err := s.grow(ctx, tx, orgID, &traces[i]); err != nil {
				return fmt.Errorf("grow trace %s: %w", traces[i].ID, err)
			}
		}
		s.tallyIn(tx, orgID).addDecisions(decisions, s.firstKeptDay()*24)
		return nil
	}})
	if err != nil {
		return false, fmt.Errorf("add to traces: %w", err)
	}
	return moved, nil
}

func movePosition(ctx context.Context, tx *database.Tx, orgID string, from, to Position) (moved bool, err error) {
	if _, err := tx.Exec(ctx,
		`INSERT INTO projected (org_id, position, epoch) VALUES ($1, 0, 0) ON CONFLICT (org_id) DO NOTHING`,
		orgID); err != nil {
		return false, err
	}
	changed, err := tx.Exec(ctx, `
		UPDATE projected
		SET position = $4, epoch = $5, counted_from = $7
		WHERE org_id = $1 AND position = $2 AND epoch = $3 AND counted_from = $6`,
		orgID, from.Next, from.Epoch, to.Next, to.Epoch, from.Counted, to.Counted)
	return changed == 1, err
}

// grow stores a trace, or adds its spans to the stored one.
func (s *Service) grow(ctx context.Context, tx *database.Tx, orgID string, g *GrowingTrace) error {
	batch := g.batch()
	first := s.keys().take(database.Micros(tx.Now()), len(batch.Spans)+1)
	s.numberSpans(batch, first)
	last := first + int64(len(batch.Spans)) // the trace's own key: it arrives with its last span
	for range maxIDCollisions {
		fresh, err := s.claimOne(ctx, tx, orgID, batch, last)
		if err != nil || fresh {
			return err
		}
		stored, err := readOwn(ctx, tx, orgID, batch.Trace.ID)
		if err != nil {
			return err
		}
		if stored != nil {
			return s.extend(ctx, tx, orgID, stored, batch)
		}
		batch.Trace.ID = uuid.NewSHA1(uuid.MustParse(batch.Trace.ID), []byte("again")).String()
	}
	batch.Trace.ID = database.NewID()
	fresh, err := s.claimOne(ctx, tx, orgID, batch, last)
	if err == nil && !fresh {
		err = errors.New("a random id is already taken")
	}
	return err
}

// numberSpans gives the spans of a batch the keys that take reserved.
func (s *Service) numberSpans(b *decode.Batch, first int64) {
	for i := range b.Spans {
		b.Spans[i].Key = s.keys().at(first + int64(i))
	}
}

// maxIDCollisions limits how many clients' traces may have the ids that a growing trace would get: whoever knows what
// the trace is about can compute them. A client's trace never grows, so the next id is tried. If somebody takes them
// all, to hide something, the spans go into traces with random ids, one each time.
const maxIDCollisions = 8

// batch is the trace in the form of ingest.
func (g *GrowingTrace) batch() *decode.Batch {
	b := &decode.Batch{Trace: decode.Trace{
		ID:         g.ID,
		Name:       g.Name,
		Status:     decode.StatusOK,
		UserID:     g.UserID,
		AgentID:    bounded(g.AgentID),
		Source:     g.Source,
		Attributes: `{"source":"` + g.Source + `"}`,
		Tags:       "[]",
		Start:      database.Micros(g.Spans[0].Start),
	}}
	for i := range g.Spans {
		span := g.Spans[i].span()
		b.Trace.Start = min(b.Trace.Start, span.Start)
		if b.Trace.End == nil || *span.End > *b.Trace.End {
			b.Trace.End = span.End
		}
		if span.Status != decode.StatusOK {
			b.Trace.Status = span.Status
		}
		b.Trace.Count(&span)
		b.Spans = append(b.Spans, span)
	}
	return b
}

func (g *GrownSpan) span() decode.Span {
	start, end := database.Micros(g.Start), database.Micros(g.End)
	took := max(end-start, 0)
	ms := took / 1000
	s := decode.Span{
		ID:             g.ID,
		SessionID:      g.SessionID,
		Kind:           g.Kind,
		Name:           g.Name,
		Start:          start,
		End:            &end,
		DurationMs:     &ms,
		DurationMicros: &took,
		Status:         decode.StatusOK,
		Attributes:     g.Attributes,
		Facts: decode.Facts{
			PolicyID:   bounded(g.PolicyID),
			PolicyName: bounded(g.PolicyName),
			Decision:   g.Decision,
			RuleID:     bounded(g.RuleID),
		},
	}
	if g.Denied {
		s.Status = decode.StatusDenied
	}
	return s
}

// bounded shortens a text that queries group by.
func bounded(text string) string {
	if len(text) > decode.MaxText {
		text = strings.ToValidUTF8(text[:decode.MaxText], "")
	}
	return text
}

// restoreGrown gives a stored span back what only added spans have: they are numbered above all that a client can
// send.
func restoreGrown(s *decode.Span, seq int64) {
	if seq < decode.MaxSpans {
		return
	}
	s.Key = seq
	if s.End != nil {
		s.DurationMicros = new(max(*s.End-s.Start, 0))
	}
}

// claimOne stores a trace, received at a time, if its id is new, and reports whether it was.
func (s *Service) claimOne(
	ctx context.Context, tx *database.Tx, orgID string, b *decode.Batch, at int64,
) (fresh bool, err error) {
	f := freshBatch{readyBatch: newReadyBatch(b, ownProduct), pk: s.keys().at(at), day: receivedDay(at)}
	claimed, err := tx.Exec(ctx, `
		INSERT INTO trace_key (org_id, id, pk, received_day)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING`, orgID, uuidBytes(b.Trace.ID), f.pk, f.day)
	if err != nil || claimed == 0 {
		return false, err
	}
	return true, s.insert(ctx, tx, orgID, []freshBatch{f})
}

// ownProduct is the product of the server's own traces.
const ownProduct = "writ"

// readOwn reads a trace that the server made and may add to; nil: a client sent it, or it is removed.
func readOwn(ctx context.Context, tx *database.Tx, orgID, id string) (*storedTrace, error) {
	t, err := readStored(ctx, tx, orgID, id)
	if err != nil || t == nil || t.growth != notGrowing {
		return nil, err
	}
	isOwn, err := hasOwnSpans(ctx, tx, t.day, t.pk)
	if err != nil || !isOwn {
		return nil, err
	}
	return t, nil
}

// hasOwnSpans reports whether the server made the spans of a trace that does not grow: those that a client sends are
// numbered from 0.
func hasOwnSpans(ctx context.Context, r database.Reader, day, pk int64) (bool, error) {
	var first int64
	err := r.QueryRow(ctx, `SELECT COALESCE(MIN(seq), 0) FROM span WHERE received_day = $1 AND trace_pk = $2`, day,
		pk).Scan(&first)
	return first >= decode.MaxSpans, err
}

// extend adds spans to a stored trace, and the difference to the totals. The spans are numbered above all that the
// trace has, even if another server was faster or its clock is ahead.
func (s *Service) extend(ctx context.Context, tx *database.Tx, orgID string, t *storedTrace, more *decode.Batch) error {
	had, err := lastNumber(ctx, tx, t.day, t.pk)
	if err != nil {
		return err
	}
	s.numberSpans(more, s.keys().take(max(database.Micros(tx.Now()), had+1), len(more.Spans)))
	figures := s.tallyIn(tx, orgID)
	figures.meterTexts(t.day, spanTexts(more.Spans))
	for i := range more.Spans {
		figures.addSpan(&more.Spans[i], "", t.trace.AgentID, receivedAt(more.Spans[i].Key))
	}
	if t.trace.Status == decode.StatusOK && more.Trace.Status != decode.StatusOK {
		t.trace.Status = more.Trace.Status
		cell(figures.traces, bucketOf(t.trace.Start, receivedAt(t.pk), hourMicros)).errors++
	}
	t.spans, t.trace.Errors = t.spans+int64(len(more.Spans)), t.trace.Errors+more.Trace.Errors
	t.trace.End = new(max(*t.trace.End, *more.Trace.End))
	if _, err := tx.Prepared().Exec(ctx, updateTrace, t.update(false)...); err != nil {
		return err
	}
	grown := growthRow(orgID, t, more.Spans[0].Key, more.Spans[len(more.Spans)-1].Key)
	if err := insertGrowths(ctx, tx, [][]any{grown}); err != nil {
		return err
	}
	return insertSpans(ctx, tx, []freshBatch{{readyBatch: newReadyBatch(more, ownProduct), pk: t.pk, day: t.day}})
}
