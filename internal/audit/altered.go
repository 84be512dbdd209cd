package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/fault"
)

// CodeAltered is the code of a refusal to prove an entry that was altered.
const CodeAltered = "entry_altered"

// AlteredVerdict stands for the verdict of an entry that the log does not prove.
const AlteredVerdict = "altered"

// Altered says of a stored entry why it must not be shown as fact.
type Altered struct {
	Why string // empty: the log proves the entry, and it is found by what its record holds
	// Record: the record itself is not proved. Otherwise only what is stored beside it was altered.
	Record bool
}

// mark compares entries of a log with its signed head, with what they are found by, and with their payloads. One tile
// proves all of its entries, so that a page costs few proofs.
func (l *Log) mark(ctx context.Context, log string, entries []Stored) error {
	if len(entries) == 0 {
		return nil
	}
	rows, err := l.searchOf(ctx, log, entries)
	if err != nil {
		return err
	}
	evidence, err := l.Evidence(ctx, log)
	if _, refused := errors.AsType[*HeadError](err); refused {
		for i := range entries {
			entries[i].Altered = Altered{Why: "the log is not the one that this server signed", Record: true}
		}
		return nil
	}
	if err != nil {
		return err
	}
	proved := map[int64][]ledger.Hash{} // the hashes of a tile; nil: the head does not prove them
	for i := range entries {
		e := &entries[i]
		tile := e.Index / tileWidth
		if _, ok := proved[tile]; !ok {
			if proved[tile], err = evidence.proveTile(tile); err != nil {
				return err
			}
		}
		e.Altered = evidence.compare(e, proved[tile], rows[e.Index])
	}
	return nil
}

// proveTile gives the leaves of a tile, perhaps unfinished, that the signed head proves; nil: it proves none of them.
// The proof of one is made of the hashes of all others.
func (e *Evidence) proveTile(position int64) ([]ledger.Hash, error) {
	first := position * tileWidth
	if first >= e.head.Size {
		return nil, nil
	}
	leaves, err := e.tree.tile(tileID{level: 0, position: position})
	var proof []ledger.Hash
	if err == nil {
		proof, err = ledger.ProveInclusion(first, e.head.Size, e.tree)
	}
	if errors.Is(err, errTree) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("prove tile %d of log %s: %w", position, e.log, err)
	}
	if ledger.CheckInclusion(proof, first, leaves[0], e.head.Size, e.head.Root()) != nil {
		return nil, nil
	}
	return leaves, nil
}

// compare says how an entry differs from what was recorded. Leaves are those of its tile, as the head proves them.
func (e *Evidence) compare(entry *Stored, leaves []ledger.Hash, row checkedRow) Altered {
	leaf := ledger.LeafHash([]byte(entry.Record))
	at := entry.Index % tileWidth
	record, err := entry.Parse()
	switch {
	case at >= int64(len(leaves)) || leaves[at] != leaf || entry.Leaf != leaf:
		return Altered{Why: "the record is not the one that the log proves", Record: true}
	case err != nil || record.Log != e.log || record.Index != entry.Index:
		return Altered{Why: "the record is that of another entry", Record: true}
	case entry.Payload != "" &&
		(record.Payload == "" || ledger.Commitment(entry.Salt, []byte(entry.Payload)) != record.Payload):
		return Altered{Why: "the payload is not the one that the record commits to"}
	}
	row.Stored = *entry
	if column := row.differsFrom(&record); column != "" {
		return Altered{Why: "it is found by another " + column + " than its record holds"}
	}
	return Altered{}
}

// searchOf reads what entries are found by.
func (l *Log) searchOf(ctx context.Context, log string, entries []Stored) (map[int64]checkedRow, error) {
	args, marks := []any{log}, make([]string, len(entries))
	for i := range entries {
		args = append(args, entries[i].Index)
		marks[i] = "$" + strconv.Itoa(len(args))
	}
	rows, err := database.Collect(ctx, l.db, func(s database.Scanner) (row checkedRow, err error) {
		into := []any{&row.Index}
		for i := range row.search {
			into = append(into, &row.search[i])
		}
		return row, s.Scan(into...)
	}, `
		SELECT position, `+strings.Join(searchColumns[:], ", ")+`
		FROM audit_entry
		WHERE log = $1 AND position IN (`+strings.Join(marks, ", ")+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("read what entries of log %s are found by: %w", log, err)
	}
	byIndex := make(map[int64]checkedRow, len(rows))
	for _, row := range rows {
		byIndex[row.Index] = row
	}
	return byIndex, nil
}

// unaltered reads an entry that must be there as it was recorded. What is stored beside its record may differ.
func (l *Log) unaltered(ctx context.Context, log string, index int64) (Stored, error) {
	altered := func(why string) error {
		return fault.New(fault.Conflict, "entry %d was altered in the database, and is not shown as proved: %s; "+
			"writ audit verify checks the whole log", index, why).Coded(CodeAltered)
	}
	entry, err := readEntry(ctx, l.db, log, index)
	if errors.Is(err, sql.ErrNoRows) {
		return Stored{}, altered("it is missing")
	}
	if err != nil {
		return Stored{}, err
	}
	one := []Stored{entry}
	if err := l.mark(ctx, log, one); err != nil {
		return Stored{}, err
	}
	if one[0].Altered.Record {
		return Stored{}, altered(one[0].Altered.Why)
	}
	return one[0], nil
}
