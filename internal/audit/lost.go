package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// PastRestore is a restore that a log records.
type PastRestore struct {
	Index int64 // of the entry that says so
	Epoch int64 // that began there
	Lost  Lost  // as far as the entry still says
}

// ReadRestores reads which restores a log records.
func ReadRestores(ctx context.Context, r database.Reader, log string) ([]PastRestore, error) {
	entries, err := database.Collect(ctx, r, scanEntry, selectEntry+`WHERE log = $1 AND action = $2 ORDER BY position`,
		log, ledger.Restored)
	if err != nil {
		return nil, fmt.Errorf("list the restores of log %s: %w", log, err)
	}
	restores := make([]PastRestore, len(entries))
	for i := range entries {
		record, err := entries[i].Parse()
		if err != nil {
			return nil, err
		}
		restores[i] = PastRestore{Index: record.Index, Epoch: record.Epoch}
		if json.Unmarshal([]byte(entries[i].Payload), &restores[i].Lost) != nil {
			restores[i].Lost = Lost{} // its payload was erased: nobody knows
		}
	}
	return restores, nil
}

// Compare is what a restored log lacks of the one that it replaces. Restores that the replaced log records, and the
// restored one does not, are lost with what they said: what they had lost counts again.
func Compare(replaced Head, restores []PastRestore, restored Head) Lost {
	lost := Lost{Known: true, From: restored.Size, Epoch: replaced.Epoch}
	parted, before := restored.Size, int64(0)
	for _, r := range restores {
		if r.Epoch <= restored.Epoch {
			continue // the restored log records it too
		}
		parted = min(parted, r.Index)
		before += r.Lost.Entries
		lost.Known = lost.Known && r.Lost.Known
	}
	back := restored.Size - parted // entries that a restore had lost, and that this one brings back
	lost.Entries = max(0, replaced.Size-parted) + max(0, before-back)
	return lost
}
