package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"writ/internal/database"
	"writ/internal/wordindex"
)

// Traces are found by words in an index beside them. Ingest only enqueues them, one small row each; a job reads them
// and gives them their words, so that ingest does not wait for it. A trace that grew is enqueued again. The row of
// the queue is taken in the transaction that writes the words: what retention removed meanwhile has none, and is not
// indexed.

// traceWords is the index of traces.
var traceWords = wordindex.Index{
	Table: "search_trace",
	Kind:  "trace",
	Day:   "received_day",
	DayOf: func(pk int64) int64 { return receivedDay(receivedAt(pk)) },
}

const (
	// sliceTraces is how many traces one change indexes at most.
	sliceTraces = 250
	// sliceIndexSpans bounds the spans that are read for a slice, unless a single trace has more.
	sliceIndexSpans = 20_000
	// indexSettled is how long a trace may wait before the index counts as incomplete.
	indexSettled = 3 * time.Second
)

// enqueueWords has new traces indexed.
func enqueueWords(ctx context.Context, tx *database.Tx, orgID string, fresh []freshBatch) error {
	rows := make([][]any, len(fresh))
	for i, f := range fresh {
		rows[i] = []any{f.pk, int64(0), orgID}
	}
	return tx.Insert(ctx, insertQueue, rows, "")
}

const insertQueue = `INSERT INTO search_trace_queue (doc, ticket, org_id)`

// queued is a row of the queue.
type queued struct{ doc, ticket int64 }

// IndexWords indexes what waits in the queue, until nothing does.
func (s *Service) IndexWords(ctx context.Context) error {
	days := map[int64]bool{}
	for {
		queue, err := database.Collect(ctx, s.db, func(row database.Scanner) (q queued, err error) {
			err = row.Scan(&q.doc, &q.ticket)
			return q, err
		}, `SELECT doc, ticket FROM search_trace_queue ORDER BY doc, ticket LIMIT $1`, sliceTraces)
		if err != nil {
			return fmt.Errorf("read which traces wait to be indexed: %w", err)
		}
		if len(queue) == 0 {
			return s.sortWords(ctx, days)
		}
		if err := s.indexSlice(ctx, queue); err != nil {
			return fmt.Errorf("index the words of traces: %w", err)
		}
		for _, q := range queue {
			days[traceWords.DayOf(q.doc)] = true
		}
	}
}

// sortWords has PostgreSQL sort what was just added into its index. Until then every look into the index reads all of
// it, and a search for what is not there looks as often as there are segments.
func (s *Service) sortWords(ctx context.Context, days map[int64]bool) error {
	if s.db.Engine() != database.PostgreSQL || len(days) == 0 {
		return nil
	}
	var tables []string
	for day := range days {
		tables = append(tables, partitionName(traceWords.Table, day))
	}
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			SELECT gin_clean_pending_list(i.indexrelid)
			FROM pg_index i
			JOIN pg_class words ON words.oid = i.indexrelid
			JOIN pg_am method ON method.oid = words.relam AND method.amname = 'gin'
			JOIN pg_class c ON c.oid = i.indrelid
			WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY($1::text[])`, tables)
		return err
	}})
	return database.Wrap(err, "sort the words of traces into their index")
}

// indexSlice indexes the first traces of a queue, as many as one change takes.
func (s *Service) indexSlice(ctx context.Context, queue []queued) error {
	docs, read, err := s.readWords(ctx, queue)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{Logs: []string{wordindex.Lock}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		taken, again, err := takeQueued(ctx, tx, queue[:read])
		if err != nil {
			return err
		}
		var add []wordindex.Doc
		for _, pk := range slices.Sorted(maps.Keys(taken)) {
			if doc, ok := docs[pk]; ok {
				add = append(add, doc)
			}
		}
		if err := traceWords.Remove(ctx, tx, again...); err != nil {
			return err
		}
		if err := s.ensureWordPartitions(ctx, tx, add); err != nil {
			return err
		}
		return traceWords.Add(ctx, tx, add)
	}})
}

// takeQueued takes rows from the queue. It returns the traces whose rows were still there, and which of them may be
// in the index already.
func takeQueued(
	ctx context.Context, tx *database.Tx, queue []queued,
) (taken map[int64]bool, again []int64, err error) {
	taken = map[int64]bool{}
	for _, q := range queue {
		n, err := tx.Prepared().Exec(ctx, `DELETE FROM search_trace_queue WHERE doc = $1 AND ticket = $2`, q.doc, q.ticket)
		if err != nil {
			return nil, nil, err
		}
		if n == 0 {
			continue
		}
		if q.ticket != 0 && (len(again) == 0 || again[len(again)-1] != q.doc) {
			again = append(again, q.doc)
		}
		taken[q.doc] = true
	}
	return taken, again, nil
}

// readWords reads the words of the first traces of a queue, and says how many rows of the queue that is. Traces that
// are gone, or that retention will remove next, have none.
func (s *Service) readWords(
	ctx context.Context, queue []queued,
) (docs map[int64]wordindex.Doc, read int, err error) {
	days, keys := map[int64]bool{}, map[int64]bool{}
	for _, q := range queue {
		if day := traceWords.DayOf(q.doc); day >= s.firstKeptDay() {
			days[day], keys[q.doc] = true, true
		}
	}
	if len(keys) == 0 {
		return nil, len(queue), nil
	}
	texts, err := s.readTexts(ctx, days, keys)
	if err != nil {
		return nil, 0, err
	}
	spans := int64(0)
	clear(keys)
	for ; read < len(queue); read++ {
		text, ok := texts[queue[read].doc]
		if !ok || keys[text.pk] {
			continue
		}
		if spans += text.spans; spans > sliceIndexSpans && len(keys) > 0 {
			break
		}
		keys[text.pk] = true
	}
	if err := s.readSpanTexts(ctx, days, keys, texts); err != nil {
		return nil, 0, err
	}
	docs = map[int64]wordindex.Doc{}
	for pk := range keys {
		t := texts[pk]
		docs[pk] = wordindex.Doc{
			Number: pk, OrgID: t.orgID,
			Words:    wordindex.Words(wordindex.MaxWords, t.plain...),
			Payloads: wordindex.Words(wordindex.MaxWords, t.payloads...),
		}
	}
	return docs, read, nil
}

// traceText is what a trace is found by. Payloads are what viewers may not read.
type traceText struct {
	pk, spans       int64
	orgID           string
	plain, payloads []string
}

func (s *Service) readTexts(ctx context.Context, days, keys map[int64]bool) (map[int64]*traceText, error) {
	list, args := inDays(days, keys, "pk")
	found := map[int64]*traceText{}
	err := each(ctx, s.db, func(row database.Scanner) error {
		t := &traceText{plain: make([]string, 4), payloads: make([]string, 2)}
		err := row.Scan(&t.pk, &t.orgID, &t.spans, &t.plain[0], &t.plain[1], &t.plain[2], &t.plain[3], &t.payloads[0],
			&t.payloads[1])
		found[t.pk] = t
		return err
	}, `SELECT pk, org_id, span_count, name, agent_id, product, tags, COALESCE(input_preview, ''), COALESCE(output_preview, '')
		FROM trace WHERE `+list, args...)
	return found, err
}

// readSpanTexts adds what the spans of traces are found by.
func (s *Service) readSpanTexts(ctx context.Context, days, keys map[int64]bool, texts map[int64]*traceText) error {
	if len(keys) == 0 {
		return nil
	}
	list, args := inDays(days, keys, "trace_pk")
	return each(ctx, s.db, func(row database.Scanner) error {
		return addSpanText(texts, row)
	}, `SELECT trace_pk, name, COALESCE(tool_name, ''), COALESCE(model, ''), COALESCE(policy_name, '')
		FROM span WHERE `+list+` ORDER BY trace_pk, seq`, args...)
}

// addSpanText adds what one span is found by. A row that cannot be read is of no trace.
func addSpanText(texts map[int64]*traceText, row database.Scanner) error {
	var pk int64
	var name, tool, model, policy string
	if err := row.Scan(&pk, &name, &tool, &model, &policy); err != nil {
		return err
	}
	if text := texts[pk]; text != nil {
		text.plain = append(text.plain, name, tool, model, policy)
	}
	return nil
}

// inDays is the condition of some keys of some days.
func inDays(days, keys map[int64]bool, column string) (condition string, args []any) {
	for _, n := range slices.Concat(slices.Sorted(maps.Keys(days)), slices.Sorted(maps.Keys(keys))) {
		args = append(args, n)
	}
	return fmt.Sprintf(`received_day IN (%s) AND %s IN (%s)`, marks(1, len(days)), column,
		marks(1+len(days), len(keys))), args
}

// ensureWordPartitions makes the partitions that the words of traces from before the index need, on PostgreSQL.
func (s *Service) ensureWordPartitions(ctx context.Context, tx *database.Tx, docs []wordindex.Doc) error {
	if tx.Engine() != database.PostgreSQL {
		return nil
	}
	made := map[int64]bool{}
	for _, d := range docs {
		day := traceWords.DayOf(d.Number)
		if made[day] {
			continue
		}
		made[day] = true
		if err := createPartition(ctx, tx, traceWords.Table, day); err != nil {
			return err
		}
	}
	return nil
}

// forgetWords takes traces out of the index and its queue, in the transaction that removes them.
func forgetWords(ctx context.Context, tx *database.Tx, keys []any) error {
	for _, pk := range keys {
		if err := traceWords.Remove(ctx, tx, pk.(int64)); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM search_trace_queue WHERE doc IN (`+marks(1, len(keys))+`)`, keys...)
	return err
}

// forgetQueued takes what was received before a day out of the queue, so that nobody indexes it any more.
func (s *Service) forgetQueued(ctx context.Context, day int64) error {
	return s.deleteSlices(ctx, "search_trace_queue", "doc, ticket", "doc < $1", (day*dayMicros)<<tagBits)
}

// forgetSegments removes segments of the index in which all is older than a day.
func (s *Service) forgetSegments(ctx context.Context, day int64) error {
	return s.deleteSlices(ctx, "search_segment", "number", `last_doc < $1 AND EXISTS (
		SELECT 1 FROM search_segment later
		WHERE later.kind = search_segment.kind AND later.org_id = search_segment.org_id
			AND later.first_doc > search_segment.first_doc)`, (day*dayMicros)<<tagBits)
}
