package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// How a trace grows, as it is stored.
const (
	notGrowing = 0 // sent whole by a client, or made by the server, which alone adds to it
	rootless   = 1 // its root span has not come yet
	rooted     = 2 // its root span has come, and describes the trace
)

// Added says what happened to the spans of some fragments.
type Added struct {
	Stored int
	Known  int // already stored
	Closed int // of traces that do not grow: they came in another way, or are removed
	Full   int // of traces that have the maximum number of spans

	refused int // beyond the limit
}

func (a *Added) add(b Added) {
	a.Stored, a.Known, a.Closed, a.Full = a.Stored+b.Stored, a.Known+b.Known, a.Closed+b.Closed, a.Full+b.Full
	a.refused += b.refused
}

// AddFragments stores fragments of traces that grow: it creates or finds each trace, counts a span once however often
// it is sent, and adds the difference to the totals. If it returns an error, some may be stored already; sending
// everything again completes it.
func (s *Service) AddFragments(ctx context.Context, orgID string, fragments []Fragment) (Added, error) {
	var total Added
	limit, err := s.limitOf(ctx, orgID)
	if err != nil {
		return Added{}, err
	}
	err = writeSlices(readyFragments(fragments), func(slice []readyFragment) func() error {
		var added Added
		wait := s.db.Submit(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
			added, err = s.addFragments(ctx, tx, orgID, slice, limit)
			return err
		}})
		return func() error {
			if err := wait(); err != nil {
				return err
			}
			if total.add(added); added.refused > 0 {
				return limit.reached(s.db.Now())
			}
			return nil
		}
	})
	if err != nil {
		return Added{}, fmt.Errorf("add to traces: %w", err)
	}
	return total, nil
}

// readyFragment is a fragment with its rows, counted as if all of it were new.
type readyFragment struct {
	readyBatch
	isRooted bool
}

// readyFragments splits fragments into slices, one for each change. A fragment that is too large for one is split.
func readyFragments(fragments []Fragment) iter.Seq[[]readyFragment] {
	return func(yield func([]readyFragment) bool) {
		var slice []readyFragment
		spans := 0
		for i := range fragments {
			for part := range slices.Chunk(fragments[i].Spans, sliceSpans) {
				if spans+len(part) > sliceSpans && len(slice) > 0 {
					if !yield(slice) {
						return
					}
					slice, spans = nil, 0
				}
				slice, spans = append(slice, newReadyFragment(&fragments[i], part)), spans+len(part)
			}
		}
		if len(slice) > 0 {
			yield(slice)
		}
	}
}

func newReadyFragment(f *Fragment, spans []decode.Span) readyFragment {
	b := &decode.Batch{Trace: f.Trace, Spans: spans}
	b.Trace.Usage, b.Trace.Errors = Usage{}, 0
	for i := range spans {
		b.Trace.Count(&spans[i])
	}
	r := readyFragment{readyBatch: newReadyBatch(b, f.Product), isRooted: f.Rooted}
	if r.growth = rootless; f.Rooted {
		r.growth = rooted
	}
	return r
}

func (s *Service) addFragments(
	ctx context.Context, tx *database.Tx, orgID string, slice []readyFragment, limit *Limit,
) (added Added, err error) {
	batches := make([]readyBatch, len(slice))
	now := database.Micros(tx.Now())
	for i := range slice {
		batches[i] = slice[i].readyBatch
		s.assignKeys(batches[i], now)
	}
	fresh, err := s.claim(ctx, tx, orgID, batches, now)
	if err != nil {
		return Added{}, err
	}
	isFresh := map[*decode.Batch]bool{}
	for _, f := range fresh {
		isFresh[f.batch] = true
	}
	fresh, added.refused, err = s.within(ctx, tx, orgID, limit, fresh)
	if err != nil {
		return Added{}, err
	}
	for _, f := range fresh {
		added.Stored += len(f.batch.Spans)
	}
	if err := s.insertSent(ctx, tx, orgID, fresh); err != nil {
		return Added{}, err
	}
	older := slices.DeleteFunc(slices.Clone(slice), func(f readyFragment) bool { return isFresh[f.batch] })
	// In the order of their ids, so that replicas cannot deadlock.
	slices.SortStableFunc(older, func(a, b readyFragment) int {
		return cmp.Compare(a.batch.Trace.ID, b.batch.Trace.ID)
	})
	for len(older) > 0 {
		round, again := onePerTrace(older)
		came, err := s.addToTraces(ctx, tx, orgID, round, limit)
		if err != nil {
			return Added{}, fmt.Errorf("add to stored traces: %w", err)
		}
		added.add(came)
		older = again
	}
	return added, nil
}

// onePerTrace takes one fragment of each trace from sorted ones, and returns what is left.
func onePerTrace(sorted []readyFragment) (round, left []readyFragment) {
	for i, f := range sorted {
		if i > 0 && f.batch.Trace.ID == sorted[i-1].batch.Trace.ID {
			left = append(left, f)
		} else {
			round = append(round, f)
		}
	}
	return round, left
}

// addToTraces adds to different stored traces what they do not have. What is read and written of them goes to the
// database together: one by one, waiting for PostgreSQL took most of the time.
func (s *Service) addToTraces(
	ctx context.Context, tx *database.Tx, orgID string, fragments []readyFragment, limit *Limit,
) (added Added, err error) {
	found, err := readGrowing(ctx, tx, orgID, fragments)
	if err != nil {
		return Added{}, err
	}
	left, err := s.leftIn(ctx, tx, orgID, limit)
	if err != nil {
		return Added{}, err
	}
	var grown []freshBatch
	var updates, growths [][]any
	for _, f := range fragments {
		stored, came := found.traces[f.batch.Trace.ID], Added{}
		switch {
		case stored == nil || stored.growth == notGrowing:
			came.Closed = len(f.batch.Spans)
		case stored.spans >= decode.MaxGrownSpans:
			came.Full = len(f.batch.Spans)
		default:
			rest := withoutKnown(found.known[stored.pk], f.readyBatch)
			spans := rest.batch.Spans
			if came = (Added{Stored: len(spans), Known: len(f.batch.Spans) - len(spans)}); len(spans) == 0 {
				break
			}
			if left -= int64(len(spans)); left < 0 {
				came.Stored, came.refused, left = 0, len(spans), 0
				break
			}
			s.renumber(found.last[stored.pk], rest)
			update, err := s.extendGrown(ctx, tx, orgID, stored, rest, f.isRooted)
			if err != nil {
				return Added{}, fmt.Errorf("trace %s: %w", stored.trace.ID, err)
			}
			updates = append(updates, update)
			growths = append(growths, growthRow(orgID, stored, spans[0].Key, spans[len(spans)-1].Key))
			grown = append(grown, freshBatch{readyBatch: rest, pk: stored.pk, day: stored.day})
		}
		added.add(came)
	}
	if err := tx.ExecEach(ctx, updateTrace, updates); err != nil {
		return Added{}, err
	}
	if err := insertGrowths(ctx, tx, growths); err != nil {
		return Added{}, err
	}
	return added, insertSpans(ctx, tx, grown)
}

// assignKeys numbers the spans of a batch in the order of receipt, above all that a client can choose.
func (s *Service) assignKeys(b readyBatch, now int64) {
	first := s.keys().take(now, len(b.batch.Spans))
	for i := range b.batch.Spans {
		key := s.keys().at(first + int64(i))
		b.batch.Spans[i].Key, b.spanRows[i][spanSequence] = key, key
	}
}

// renumber numbers spans again if the trace already has the same or higher numbers: another server was faster, or its
// clock is ahead. Followers find the spans of a growth by their numbers.
func (s *Service) renumber(had int64, more readyBatch) {
	if receivedAt(more.batch.Spans[0].Key) <= had {
		s.assignKeys(more, had+1)
	}
}

// extendGrown merges more spans into a stored trace, and counts the difference. It returns what updateTrace needs.
func (s *Service) extendGrown(
	ctx context.Context, tx *database.Tx, orgID string, stored *storedTrace, more readyBatch, isRooted bool,
) (update []any, err error) {
	after := *stored
	after.trace.Merge(&Fragment{Batch: *more.batch, Rooted: isRooted}, stored.growth == rooted)
	after.trace.Usage = stored.trace.Usage.Add(more.batch.Trace.Usage)
	after.trace.Errors += more.batch.Trace.Errors
	after.spans += int64(len(more.batch.Spans))
	after.growth = max(stored.growth, more.growth)

	figures := s.tallyIn(tx, orgID)
	figures.meterSpans(more.batch.Spans, 0)
	figures.meterTexts(stored.day, spanTexts(more.batch.Spans))
	figures.move(&stored.trace, &after.trace, receivedAt(stored.pk))
	for i := range more.batch.Spans {
		span := &more.batch.Spans[i]
		figures.addSpan(span, after.trace.SessionID, after.trace.AgentID, receivedAt(span.Key))
	}
	if after.trace.AgentID != stored.trace.AgentID {
		if err := figures.moveAgent(ctx, tx, stored, after.trace.AgentID); err != nil {
			return nil, err
		}
	}
	if after.trace.SessionID != "" {
		if stored.trace.SessionID == "" {
			if err := figures.joinSession(ctx, tx, stored, after.trace.SessionID); err != nil {
				return nil, err
			}
		}
		figures.extendSession(&stored.trace, &after.trace, more)
	}
	return after.update(after.growth != stored.growth), nil
}
