package audit

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

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
	changed, err := tx.Exec(ctx, `
		UPDATE audit_head
		SET size = $2, frontier = $3, generation = $4, epoch = $5, updated_at = $6
		WHERE log = $1`, h.Log, h.Size, pack(h.frontier), h.Generation, h.Epoch, database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("write the head of log %s: %w", h.Log, err)
	}
	if changed != 1 {
		return fmt.Errorf("write the head of log %s: the row is gone", h.Log)
	}
	return nil
}

func insertEntry(ctx context.Context, tx *database.Tx, e Entry, index int64, record string, payload, salt []byte, leaf tlog.Hash) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO audit_entry (log, position, recorded_at, action, record, payload, salt, leaf)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		e.Log, index, database.Micros(tx.Now()), e.Action, record, database.OptionalText(string(payload)), salt, leaf[:])
	return err
}

// Stored is an entry as it stands in the log.
type Stored struct {
	Index   int64
	Action  string
	Record  string // canonical JSON
	Payload string // canonical JSON, empty where there is none or it was erased
	Salt    []byte
	Leaf    tlog.Hash
}

// ReadEntries reads up to limit entries of a log, from an index on.
func ReadEntries(ctx context.Context, r database.Reader, log string, from int64, limit int) ([]Stored, error) {
	entries, err := database.Collect(ctx, r, func(s database.Scanner) (e Stored, err error) {
		var leaf []byte
		err = s.Scan(&e.Index, &e.Action, &e.Record, &e.Payload, &e.Salt, &leaf)
		copy(e.Leaf[:], leaf)
		return e, err
	}, `
		SELECT position, action, record, COALESCE(payload, ''), salt, leaf
		FROM audit_entry
		WHERE log = $1 AND position >= $2
		ORDER BY position
		LIMIT $3`, log, from, limit)
	if err != nil {
		return nil, fmt.Errorf("read log %s from %d: %w", log, from, err)
	}
	return entries, nil
}
