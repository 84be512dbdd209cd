package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// sliceSpans is how many spans one change writes at most, so that others do not wait for long. A batch is never split.
const sliceSpans = 500

// Result is the answer to an ingest request.
type Result struct {
	Accepted   int
	Duplicate  int
	TraceIDs   []string // accepted
	Rejections []Rejection
}

// Rejection says why the batch at an index was rejected.
type Rejection struct {
	Index  int
	Field  string
	Reason string
}

// slicesAtOnce is how many slices of one request are written at a time. Meanwhile the next one is decoded, so that it
// is ready for the committer; slices that wait together share a commit.
const slicesAtOnce = 2

// Ingest stores the valid batches of a request. If it returns an error, some of them may be stored already; sending
// the request again completes it. A batch that the organization's limit has no room for is refused with those that
// follow; those before it are stored.
func (s *Service) Ingest(ctx context.Context, orgID, product string, r Request) (Result, error) {
	result := Result{TraceIDs: []string{}}
	limit, err := s.limitOf(ctx, orgID)
	if err != nil {
		return Result{}, err
	}
	err = writeSlices(s.read(r, product, &result), func(slice []readyBatch) func() error {
		return s.write(ctx, orgID, slice, limit, &result)
	})
	if err != nil {
		return Result{}, fmt.Errorf("store traces: %w", err)
	}
	return result, nil
}

// writeSlices starts to write one slice after another, and waits for all of them. After a failure it starts no more.
func writeSlices[T any](all iter.Seq[T], begin func(T) (wait func() error)) (failed error) {
	var writing []func() error
	wait := func() {
		failed = cmp.Or(failed, writing[0]())
		writing = writing[1:]
	}
	for slice := range all {
		if len(writing) == slicesAtOnce {
			wait()
		}
		if failed != nil {
			break
		}
		writing = append(writing, begin(slice))
	}
	for len(writing) > 0 {
		wait()
	}
	return failed
}

// read decodes the valid batches of a request in slices, one for each change, and records why the others were
// rejected.
func (s *Service) read(r Request, product string, result *Result) iter.Seq[[]readyBatch] {
	return func(yield func([]readyBatch) bool) {
		var slice []readyBatch
		spans := 0
		for i, raw := range r.Batches {
			b, bad := decode.ParseBatch(raw, r.SessionID, product, s.prices)
			if bad != nil {
				result.Rejections = append(result.Rejections, Rejection{Index: i, Field: bad.Field, Reason: bad.Reason})
				continue
			}
			size := max(len(b.Spans), 1)
			if spans+size > sliceSpans && len(slice) > 0 {
				if !yield(slice) {
					return
				}
				slice, spans = nil, 0
			}
			slice, spans = append(slice, newReadyBatch(&b, product)), spans+size
		}
		if len(slice) > 0 {
			yield(slice)
		}
	}
}

// write starts to store a slice. The returned function waits for it, and adds the outcome to the result.
func (s *Service) write(
	ctx context.Context, orgID string, slice []readyBatch, limit *Limit, result *Result,
) func() error {
	var stored outcome
	wait := s.db.Submit(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
		stored, err = s.store(ctx, tx, orgID, slice, limit)
		return err
	}})
	return func() error {
		if err := wait(); err != nil {
			return err
		}
		if stored.refused > 0 {
			return limit.reached(s.db.Now())
		}
		result.Accepted += len(stored.accepted)
		result.Duplicate += len(slice) - len(stored.accepted)
		result.TraceIDs = append(result.TraceIDs, stored.accepted...)
		return nil
	}
}

// outcome is what became of a slice.
type outcome struct {
	accepted []string // ids of new traces
	refused  int      // new traces beyond the limit
}

// store writes one slice, as far as the limit goes.
func (s *Service) store(
	ctx context.Context, tx *database.Tx, orgID string, slice []readyBatch, limit *Limit,
) (outcome, error) {
	fresh, err := s.claim(ctx, tx, orgID, slice, database.Micros(tx.Now()))
	if err != nil {
		return outcome{}, err
	}
	fresh, refused, err := s.within(ctx, tx, orgID, limit, fresh)
	if err != nil {
		return outcome{}, err
	}
	accepted := make([]string, len(fresh))
	for i, f := range fresh {
		accepted[i] = f.batch.Trace.ID
	}
	return outcome{accepted, refused}, s.insertSent(ctx, tx, orgID, fresh)
}

// insertSent stores what clients sent, which counts as used.
func (s *Service) insertSent(ctx context.Context, tx *database.Tx, orgID string, fresh []freshBatch) error {
	for _, f := range fresh {
		s.tallyIn(tx, orgID).meterSpans(f.batch.Spans, receivedAt(f.pk))
	}
	return s.insert(ctx, tx, orgID, fresh)
}

func (s *Service) insert(ctx context.Context, tx *database.Tx, orgID string, fresh []freshBatch) error {
	if len(fresh) == 0 {
		return nil
	}
	if err := s.ensurePartitions(ctx, tx, fresh[0].day); err != nil {
		return err
	}
	t := s.tallyIn(tx, orgID)
	for _, f := range fresh {
		t.add(f.batch, f.product, receivedAt(f.pk))
		t.meterTexts(f.day, batchTexts(f.batch))
	}
	if err := insertTraces(ctx, tx, orgID, fresh); err != nil {
		return err
	}
	if err := enqueueWords(ctx, tx, orgID, fresh); err != nil {
		return err
	}
	return insertSpans(ctx, tx, fresh)
}

type readyBatch struct {
	batch    *decode.Batch
	product  string
	growth   int64 // see growth.go
	spanRows [][]any
}

func newReadyBatch(b *decode.Batch, product string) readyBatch {
	return readyBatch{batch: b, product: product, spanRows: spanRows(b)}
}

// freshBatch is a batch with a new trace id, and its row key.
type freshBatch struct {
	readyBatch
	pk  int64
	day int64
}

// claim takes the trace ids that are new, in the order of the ids, so that replicas that receive the same traces
// cannot deadlock.
func (s *Service) claim(
	ctx context.Context, tx *database.Tx, orgID string, batches []readyBatch, now int64,
) ([]freshBatch, error) {
	first := s.keys().take(now, len(batches))
	rows := make([][]any, len(batches))
	byKey := make(map[int64]freshBatch, len(batches))
	for i, b := range batches {
		at := first + int64(i)
		f := freshBatch{readyBatch: b, pk: s.keys().at(at), day: receivedDay(at)}
		rows[i] = []any{orgID, uuidBytes(b.batch.Trace.ID), f.pk, f.day}
		byKey[f.pk] = f
	}
	slices.SortStableFunc(rows, func(a, b []any) int { return bytes.Compare(a[keyID].([]byte), b[keyID].([]byte)) })
	claimed, err := insertKeys(ctx, tx, orgID, rows)
	if err != nil {
		return nil, fmt.Errorf("claim trace ids: %w", err)
	}
	slices.Sort(claimed)
	var fresh []freshBatch
	for _, pk := range claimed {
		if f, isOurs := byKey[pk]; isOurs {
			fresh = append(fresh, f)
		}
	}
	return fresh, nil
}

// insertKeys claims trace ids, and returns the row keys that they have now: those to be claimed, except for ids that
// were taken. This is rare, and asking which ids are new would cost as much as inserting them.
func insertKeys(ctx context.Context, tx *database.Tx, orgID string, rows [][]any) (keys []int64, err error) {
	inserted, err := tx.InsertNew(ctx, `INSERT INTO trace_key (org_id, id, pk, received_day)`, rows)
	if err != nil {
		return nil, err
	}
	if inserted == int64(len(rows)) {
		for _, row := range rows {
			keys = append(keys, row[keyPK].(int64))
		}
		return keys, nil
	}
	for some := range slices.Chunk(rows, readAtOnce) {
		args := []any{orgID}
		for i := range readAtOnce {
			args = append(args, some[i%len(some)][keyID])
		}
		found, err := database.Collect(ctx, tx.Prepared(), scanKey,
			`SELECT pk FROM trace_key WHERE org_id = $1 AND id IN (`+marks(2, readAtOnce)+`)`, args...)
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil // the same id may be in two chunks
}

// Columns of a row of trace_key.
const (
	keyID = 1
	keyPK = 2
)

func scanKey(row database.Scanner) (pk int64, err error) {
	err = row.Scan(&pk)
	return pk, err
}

// tallyIn is what the commit changes for an organization. The first use of any in a transaction has all of them
// written before the commit, in one order.
func (s *Service) tallyIn(tx *database.Tx, orgID string) *tally {
	all := s.tallies.In(tx)
	if *all == nil {
		*all = map[string]*tally{}
		tx.BeforeCommit(func(ctx context.Context) error {
			for _, org := range slices.Sorted(maps.Keys(*all)) {
				if err := s.flush(ctx, tx, org, (*all)[org]); err != nil {
					return fmt.Errorf("write the figures of organization %s: %w", org, err)
				}
			}
			return nil
		})
	}
	if (*all)[orgID] == nil {
		(*all)[orgID] = newTally()
	}
	return (*all)[orgID]
}
