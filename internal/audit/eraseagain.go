package audit

import (
	"context"
	"fmt"
	"strconv"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/principal"
)

// Erased is an entry whose payload somebody erased.
type Erased struct {
	Log   string
	Index int64
	Leaf  ledger.Hash
}

// ReadErased lists what people erased, in every log, without what was retired by age:
// that job finds it again.
func ReadErased(ctx context.Context, r database.Reader) (all []Erased, err error) {
	heads, err := ReadHeads(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, head := range heads {
		erasures, err := database.Collect(ctx, r, scanEntry,
			selectEntry+`WHERE log = $1 AND action = $2 ORDER BY position`,
			head.Log, ledger.Erased)
		if err != nil {
			return nil, fmt.Errorf("list what was erased of log %s: %w", head.Log, err)
		}
		for _, entry := range erasures {
			record, err := entry.Parse()
			if err != nil {
				return nil, err
			}
			index, err := strconv.ParseInt(record.Subject.ID, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("entry %d of log %s names no entry: %w", entry.Index, head.Log, err)
			}
			erased, err := ReadEntries(ctx, r, head.Log, index, 1)
			if err != nil {
				return nil, err
			}
			if len(erased) == 1 && erased[0].Index == index {
				all = append(all, Erased{Log: head.Log, Index: index, Leaf: erased[0].Leaf})
			}
		}
	}
	return all, nil
}

// EraseAgain erases, after a restore, what was erased since the backup, and records
// that. It skips entries that changed or are gone.
func (l *Log) EraseAgain(
	ctx context.Context, tx *database.Tx, all []Erased, copies Eraser,
) (count int, err error) {
	for _, erased := range all {
		entries, err := ReadEntries(ctx, tx, erased.Log, erased.Index, 1)
		if err != nil {
			return 0, err
		}
		if len(entries) != 1 || entries[0].Index != erased.Index || entries[0].Leaf != erased.Leaf ||
			entries[0].Payload == "" {
			continue
		}
		if err := l.erasePayload(ctx, tx, erased.Log, erased.Index, copies); err != nil {
			return 0, err
		}
		_, err = l.Append(ctx, tx, Entry{
			Log: erased.Log, Action: ledger.Erased, Actor: principal.Operator(), Subject: erasedEntry(erased.Index),
			Payload: map[string]any{"reason": "it was erased before a backup brought it back"}, Observation: true,
		})
		if err != nil {
			return 0, err
		}
		count++
	}
	return count, nil
}
