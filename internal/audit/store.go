package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

func insertHead(ctx context.Context, tx *database.Tx, log string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO audit_head (log, size, frontier, generation, epoch, updated_at)
		VALUES ($1, 0, $2, 0, 0, $3)`, log, []byte{}, database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("begin log %s: %w", log, err)
	}
	return nil
}

func updateHead(ctx context.Context, tx *database.Tx, h *Head) error {
	changed, err := tx.Prepared().Exec(ctx, `
		UPDATE audit_head
		SET size = $2, frontier = $3, generation = $4, epoch = $5, checkpoint = $6, updated_at = $7, state = $8, seal = $9
		WHERE log = $1`,
		h.Log, h.Size, h.frontier.Pack(), h.Generation, h.Epoch, h.Checkpoint, database.Micros(tx.Now()), h.state,
		h.seal)
	if err != nil {
		return fmt.Errorf("write the head of log %s: %w", h.Log, err)
	}
	if changed != 1 {
		return fmt.Errorf("write the head of log %s: the row is gone", h.Log)
	}
	return nil
}

// entryRow is an entry as insertEntries takes it.
func entryRow(r *ledger.Record, record, payload, salt []byte, leaf ledger.Hash) []any {
	row := make([]any, 0, 8+len(searchColumns))
	row = append(row, r.Log, r.Index, r.Time, r.Action, string(record), textOrNull(string(payload)), salt, leaf[:])
	return appendSearch(row, r)
}

// appendSearch appends what an entry is found by, in the order of searchColumns.
func appendSearch(row []any, r *ledger.Record) []any {
	return append(row,
		found(r.Actor.ID), found(subjectText(r.Subject)),
		found(r.Agent), found(r.Session), found(r.Plan), found(r.Step), found(r.Server), found(r.Tool),
		found(r.Verdict))
}

func insertEntries(ctx context.Context, tx *database.Tx, rows [][]any) error {
	return tx.Insert(ctx, `
		INSERT INTO audit_entry (
			log, position, recorded_at, action, record, payload, salt, leaf,
			actor, subject, agent, session, plan, step, server, tool, verdict
		)`, rows, "")
}

// longestFound is how many bytes of a value an index holds on every database.
const longestFound = 200

// found is a value as entries are found by it: itself, or its hash if an index could not
// hold it. Agents choose some of these values, and must not prevent an entry.
func found(value string) any {
	const hashed = "sha256:"
	if len(value) > longestFound || strings.HasPrefix(value, hashed) || strings.Contains(value, "\x00") ||
		!utf8.ValidString(value) {
		sum := sha256.Sum256([]byte(value))
		value = hashed + hex.EncodeToString(sum[:])
	}
	return textOrNull(value)
}

// textOrNull is cheaper than a sql.NullString.
func textOrNull(value string) any {
	if value == "" {
		return nil
	}
	return value
}

// subjectText is a subject as one text; empty: none.
func subjectText(s Subject) string {
	if s == (Subject{}) {
		return ""
	}
	return s.Type + "/" + s.ID
}

// Stored is an entry of a log.
type Stored struct {
	Index   int64
	Time    int64 // microseconds since 1970, UTC
	Action  string
	Record  string // canonical JSON
	Payload string // canonical JSON; empty: none, or erased
	Salt    []byte
	Leaf    ledger.Hash
	Altered Altered // as lists and Service.Entry find it; other readers do not ask
}

// Parse reads the record.
func (s *Stored) Parse() (ledger.Record, error) {
	r, err := ledger.ParseRecord([]byte(s.Record))
	if err != nil {
		return ledger.Record{}, fmt.Errorf("entry %d: %w", s.Index, err)
	}
	return r, nil
}

const selectEntry = `
	SELECT position, recorded_at, action, record, COALESCE(payload, ''), salt, leaf
	FROM audit_entry
	`

func scanEntry(s database.Scanner) (e Stored, err error) {
	var leaf []byte
	if err := s.Scan(&e.Index, &e.Time, &e.Action, &e.Record, &e.Payload, &e.Salt, &leaf); err != nil {
		return Stored{}, err
	}
	copy(e.Leaf[:], leaf) // one of another length is not that of the record
	return e, nil
}

func toHash(raw []byte) (hash ledger.Hash, err error) {
	if copy(hash[:], raw) != len(hash) || len(raw) != len(hash) {
		return ledger.Hash{}, fmt.Errorf("%w: one has %d bytes", errTree, len(raw))
	}
	return hash, nil
}

// ReadEntries reads up to limit entries of a log, from an index on.
func ReadEntries(ctx context.Context, r database.Reader, log string, from int64, limit int) ([]Stored, error) {
	entries, err := database.Collect(ctx, r, scanEntry, selectEntry+`
		WHERE log = $1 AND position >= $2
		ORDER BY position
		LIMIT $3`, log, from, limit)
	if err != nil {
		return nil, fmt.Errorf("read log %s from %d: %w", log, from, err)
	}
	return entries, nil
}

// readEntry reads one entry, which must be there.
func readEntry(ctx context.Context, r database.Reader, log string, index int64) (Stored, error) {
	entry, err := scanEntry(r.QueryRow(ctx, selectEntry+`WHERE log = $1 AND position = $2`, log, index))
	if err != nil {
		return Stored{}, fmt.Errorf("read entry %d of log %s: %w", index, log, err)
	}
	return entry, nil
}
