package audit

import (
	"context"
	"fmt"
	"io"

	"writ/internal/audit/ledger"
	"writ/internal/fault"
)

// A page of an export is read whole before it is written, so that a slow reader never
// holds the database. It has at most so many entries or bytes.
const (
	exportEntries = 500
	exportBytes   = 4 << 20
)

// ExportOptions say what an export holds.
type ExportOptions struct {
	Since int64 // the first entry; the frontier represents those before
	// WithoutPayloads is for readers who may not see payloads. The proofs hold.
	WithoutPayloads bool
}

// Export writes a log as it is now, in the form that ledger.Verify reads. After an
// error the export ends short, which a verifier notices.
func (s *Service) Export(ctx context.Context, w io.Writer, log string, o ExportOptions) error {
	head, err := s.signed(ctx, log)
	if err != nil {
		return err
	}
	if o.Since < 0 || o.Since > head.Size {
		return fault.Field("since", "must be from 0 to the number of entries, %d", head.Size)
	}
	now := s.signer.Load()
	if head.Checkpoint, err = now.resign(&head); err != nil {
		return err
	}
	before, err := ledger.FrontierOf(o.Since, treeOf(ctx, s.db, log, head.Size))
	if err != nil {
		return fmt.Errorf("export log %s: %w", log, err)
	}
	first := ledger.NewHeader(before, head.Checkpoint, now.public)
	first.WithoutPayloads = o.WithoutPayloads
	header, err := first.Encode()
	if err != nil {
		return fmt.Errorf("export log %s: %w", log, err)
	}
	if _, err := w.Write(header); err != nil {
		return fmt.Errorf("export log %s: %w", log, err)
	}
	for next := o.Since; next < head.Size; {
		lines, count, err := s.exportPage(ctx, log, next, head.Size, o.WithoutPayloads)
		if err != nil {
			return fmt.Errorf("export log %s from %d: %w", log, next, err)
		}
		if _, err := w.Write(lines); err != nil {
			return fmt.Errorf("export log %s: %w", log, err)
		}
		next += count
	}
	return nil
}

// resign is a checkpoint signed by this very key: that of the stored one may have been
// rotated since.
func (s *signer) resign(h *Head) (string, error) {
	key, err := ledger.ParseKey(s.public)
	if err != nil {
		return "", err
	}
	if _, err := ledger.OpenCheckpoint(h.Checkpoint, ledger.Keys{key}); err == nil {
		return h.Checkpoint, nil
	}
	return s.sign(h, h.Root())
}

// exportPage reads the lines of a page of entries, and counts them.
func (s *Service) exportPage(
	ctx context.Context, log string, from, until int64, withoutPayloads bool,
) (lines []byte, count int64, err error) {
	rows, err := s.db.Query(ctx, selectEntry+`
		WHERE log = $1 AND position >= $2 AND position < $3
		ORDER BY position`, log, from, min(until, from+exportEntries))
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for len(lines) < exportBytes && rows.Next() {
		entry, err := scanEntry(rows)
		if err != nil {
			return nil, 0, err
		}
		if entry.Index != from+count {
			return nil, 0, fmt.Errorf("entry %d is missing", from+count)
		}
		if withoutPayloads {
			entry.Payload = ""
		}
		lines = ledger.AppendLine(lines, []byte(entry.Record), []byte(entry.Payload), entry.Salt)
		count++
	}
	if err := rows.Err(); err != nil {
		return nil, 0, err
	}
	if count == 0 {
		return nil, 0, fmt.Errorf("entry %d is missing", from)
	}
	return lines, count, nil
}
