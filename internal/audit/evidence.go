package audit

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// Evidence proves stored entries of a log by its signed head, for those who act on what
// the log says: an entry that somebody wrote into the database is not proved.
type Evidence struct {
	log  string
	head Head
	db   database.Reader
	tree *nodes
}

// ErrNotProved refuses an entry that the signed head does not prove.
var ErrNotProved = errors.New("the entry is not proved by the log")

// Evidence reads the head of a log and checks it.
func (l *Log) Evidence(ctx context.Context, log string) (*Evidence, error) {
	return l.EvidenceIn(ctx, l.db, log)
}

// EvidenceIn is Evidence with any reader, such as a change before it appends.
func (l *Log) EvidenceIn(ctx context.Context, r database.Reader, log string) (*Evidence, error) {
	head, err := ReadHead(ctx, r, log)
	if err != nil {
		return nil, err
	}
	if err := l.checkHead(ctx, r, log, &head, false); err != nil {
		return nil, err
	}
	return evidenceOf(ctx, r, log, head), nil
}

func evidenceOf(ctx context.Context, db database.Reader, log string, head Head) *Evidence {
	return &Evidence{log: log, head: head, db: db, tree: treeOf(ctx, db, log, head.Size)}
}

// Policies is the digest of the active policies that the log tells; empty: it does not.
func (e *Evidence) Policies() (string, error) {
	s, err := e.head.readState()
	return s.Policies, err
}

// Prove checks that an entry is in the log, and gives its record. A payload that is there
// is the one that the record commits to.
func (e *Evidence) Prove(entry *Stored) (ledger.Record, error) {
	record, err := entry.Parse()
	if err != nil {
		return ledger.Record{}, fmt.Errorf("%w: %w", ErrNotProved, err)
	}
	if record.Log != e.log || record.Index != entry.Index {
		return ledger.Record{}, fmt.Errorf("%w: entry %d holds the record of another", ErrNotProved, entry.Index)
	}
	if record.Payload != "" && entry.Payload != "" &&
		ledger.Commitment(entry.Salt, []byte(entry.Payload)) != record.Payload {
		return ledger.Record{}, fmt.Errorf("%w: entry %d has another payload than its record says", ErrNotProved,
			entry.Index)
	}
	proof, err := ledger.ProveInclusion(entry.Index, e.head.Size, e.tree)
	if errors.Is(err, errTree) {
		return ledger.Record{}, fmt.Errorf("%w: %w", ErrNotProved, err)
	}
	if err != nil {
		return ledger.Record{}, fmt.Errorf("prove entry %d of log %s: %w", entry.Index, e.log, err)
	}
	leaf := ledger.LeafHash([]byte(entry.Record))
	if err := ledger.CheckInclusion(proof, entry.Index, leaf, e.head.Size, e.head.Root()); err != nil {
		return ledger.Record{}, fmt.Errorf("%w: %w", ErrNotProved, err)
	}
	return record, nil
}

// LatestAbout gives the entries about a subject to visit, newest first and without proof,
// until it is done.
func (e *Evidence) LatestAbout(
	ctx context.Context, subject Subject, visit func(entry *Stored) (done bool, err error),
) error {
	for before := e.head.Size; before > 0; {
		entries, err := database.Collect(ctx, e.db, scanEntry, selectEntry+`
			WHERE log = $1 AND subject = $2 AND verdict IS NULL AND position < $3
			ORDER BY position DESC
			LIMIT 50`, e.log, found(subjectText(subject)), before)
		if err != nil {
			return fmt.Errorf("read what log %s says of %s: %w", e.log, subjectText(subject), err)
		}
		for i := range entries {
			if done, err := visit(&entries[i]); done || err != nil {
				return err
			}
			before = min(before, entries[i].Index)
		}
		if len(entries) == 0 {
			return nil
		}
	}
	return nil
}

// IsErased reports whether the log says that the payload of an entry was erased.
func (e *Evidence) IsErased(ctx context.Context, record *ledger.Record) (bool, error) {
	var missing ledger.Erasures
	if err := missing.Missing(record); err != nil {
		return false, nil
	}
	err := e.account(ctx, record.Index, &missing)
	return len(missing.Unaccounted()) == 0, err
}

// account compares missing payloads with the erasures behind an entry, each proved.
func (e *Evidence) account(ctx context.Context, after int64, missing *ledger.Erasures) error {
	for len(missing.Unaccounted()) > 0 {
		erasures, err := database.Collect(ctx, e.db, scanEntry, selectEntry+`
			WHERE log = $1 AND action IN ('`+ledger.Erased+`', '`+ledger.Retired+`') AND verdict IS NULL
				AND position > $2 AND position < $3
			ORDER BY position
			LIMIT $4`, e.log, after, e.head.Size, checkRows)
		if err != nil {
			return fmt.Errorf("read the erasures of log %s: %w", e.log, err)
		}
		if len(erasures) == 0 {
			return nil
		}
		for i := range erasures {
			if record, err := e.Prove(&erasures[i]); err == nil {
				_ = missing.Account(&record, []byte(erasures[i].Payload)) // one that names nothing accounts for nothing
			}
			after = erasures[i].Index
		}
	}
	return nil
}

// errBeyond: rows that no head covers are entries that nobody appended.
var errBeyond = errors.New("there are entries that the log's head does not cover")

// checkEnd refuses rows behind the end of a log, which lists would show.
func (l *Log) checkEnd(ctx context.Context, log string) error {
	var size, end int64
	err := l.db.QueryRow(ctx, `
		SELECT h.size, COALESCE((SELECT MAX(e.position) + 1 FROM audit_entry e WHERE e.log = h.log), 0)
		FROM audit_head h
		WHERE h.log = $1`, log).Scan(&size, &end)
	if err != nil {
		return fmt.Errorf("read the end of log %s: %w", log, err)
	}
	if end > size {
		return fmt.Errorf("%w: %s has %s entries, and rows up to %d", errBeyond, log, strconv.FormatInt(size, 10),
			end-1)
	}
	return nil
}
