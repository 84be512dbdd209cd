package telemetry

import (
	"context"
	"slices"

	"writ/internal/database"
)

// growing is what fragments need to know about the stored traces that they belong to.
type growing struct {
	traces map[string]*storedTrace   // by id, locked
	known  map[int64]map[string]bool // by row key: which of the spans the trace already has
	last   map[int64]int64           // by row key: see lastNumber
}

// readGrowing reads about stored traces, each of which is in one fragment. SQLite is asked about one after another, as
// its statements are cheap. PostgreSQL is asked about all at once, because each question waits for it.
func readGrowing(
	ctx context.Context, tx *database.Tx, orgID string, fragments []readyFragment,
) (growing, error) {
	g := growing{map[string]*storedTrace{}, map[int64]map[string]bool{}, map[int64]int64{}}
	if tx.Engine() == database.PostgreSQL {
		return g, g.readTogether(ctx, tx, orgID, fragments)
	}
	for _, f := range fragments {
		stored, err := readStored(ctx, tx, orgID, f.batch.Trace.ID)
		if err != nil {
			return growing{}, err
		}
		if stored == nil {
			continue
		}
		g.traces[f.batch.Trace.ID] = stored
		if g.known[stored.pk], err = knownSpans(ctx, tx, stored, f.readyBatch); err != nil {
			return growing{}, err
		}
		if g.last[stored.pk], err = lastNumber(ctx, tx, stored.day, stored.pk); err != nil {
			return growing{}, err
		}
	}
	return g, nil
}

// knownSpans are the spans of a batch that the trace already has.
func knownSpans(ctx context.Context, tx *database.Tx, stored *storedTrace, b readyBatch) (map[string]bool, error) {
	known := map[string]bool{}
	for some := range slices.Chunk(b.batch.Spans, readAtOnce) {
		args := []any{stored.day, stored.pk}
		for i := range readAtOnce {
			args = append(args, some[i%len(some)].ID)
		}
		// The condition on seq must be exactly that of the index.
		ids, err := database.Collect(ctx, tx.Prepared(), scanText, `
			SELECT id FROM span INDEXED BY span_by_id
			WHERE received_day = $1 AND trace_pk = $2 AND seq >= 500 AND id IN (`+marks(3, readAtOnce)+`)`, args...)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			known[id] = true
		}
	}
	return known, nil
}

// readTogether reads about all traces in three queries.
func (g *growing) readTogether(
	ctx context.Context, tx *database.Tx, orgID string, fragments []readyFragment,
) error {
	ids := make([][]byte, len(fragments))
	for i, f := range fragments {
		ids[i] = uuidBytes(f.batch.Trace.ID)
	}
	// Locked in the order of their ids, so that replicas cannot deadlock.
	stored, err := database.Collect(ctx, tx, scanStored, `
		SELECT `+storedColumns+`
		FROM trace_key k
		JOIN trace t ON t.received_day = k.received_day AND t.pk = k.pk AND t.org_id = k.org_id
		WHERE k.org_id = $1 AND k.id = ANY($2)
		ORDER BY k.id
		FOR UPDATE OF t`, orgID, ids)
	if err != nil {
		return err
	}
	for _, t := range stored {
		g.traces[t.trace.ID], g.last[t.pk] = t, receivedAt(t.pk)
	}
	if err := g.readKnown(ctx, tx, fragments); err != nil {
		return err
	}
	return g.readLast(ctx, tx, stored)
}

func (g *growing) readKnown(ctx context.Context, tx *database.Tx, fragments []readyFragment) error {
	var days, traces []int64
	var spans []string
	for _, f := range fragments {
		stored := g.traces[f.batch.Trace.ID]
		if stored == nil {
			continue
		}
		for i := range f.batch.Spans {
			days, traces, spans = append(days, stored.day), append(traces, stored.pk),
				append(spans, f.batch.Spans[i].ID)
		}
	}
	return each(ctx, tx, func(row database.Scanner) error {
		var pk int64
		var id string
		err := row.Scan(&pk, &id)
		if g.known[pk] == nil {
			g.known[pk] = map[string]bool{}
		}
		g.known[pk][id] = true
		return err
	}, `
		SELECT s.trace_pk, s.id
		FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS sent (day, trace_pk, id)
		JOIN span s ON s.received_day = sent.day AND s.trace_pk = sent.trace_pk AND s.id = sent.id AND s.seq >= 500`,
		days, traces, spans)
}

func (g *growing) readLast(ctx context.Context, tx *database.Tx, stored []*storedTrace) error {
	var days, traces []int64
	for _, t := range stored {
		days, traces = append(days, t.day), append(traces, t.pk)
	}
	return each(ctx, tx, func(row database.Scanner) error {
		var pk, seq int64
		err := row.Scan(&pk, &seq)
		g.last[pk] = receivedAt(max(seq, pk))
		return err
	}, `
		SELECT asked.trace_pk, COALESCE((
			SELECT MAX(s.seq) FROM span s WHERE s.received_day = asked.day AND s.trace_pk = asked.trace_pk), 0)
		FROM unnest($1::bigint[], $2::bigint[]) AS asked (day, trace_pk)`, days, traces)
}
