package audit

import (
	"context"
	"fmt"

	"writ/internal/audit/ledger"
	"writ/internal/fault"
)

// Service reads the logs, proves what is in them, and erases payloads.
type Service struct {
	*Log
	copies Eraser // or nil
}

// New makes the service of a log. The eraser erases what others copy of payloads.
func New(log *Log, copies Eraser) *Service { return &Service{Log: log, copies: copies} }

// signed is the head of a log with its checkpoint.
func (s *Service) signed(ctx context.Context, log string) (Head, error) {
	head, err := ReadHead(ctx, s.db, log)
	if err != nil {
		return Head{}, err
	}
	if head.Size == 0 {
		return Head{}, fault.New(fault.NotFound, "this audit log has no entries")
	}
	return head, s.checkHead(ctx, s.db, log, &head, false)
}

// Checkpoint is the signed checkpoint of a log as it is now.
func (s *Service) Checkpoint(ctx context.Context, log string) (string, error) {
	head, err := s.signed(ctx, log)
	return head.Checkpoint, err
}

// Entry is one entry with the proof that it is in the log as it is now.
func (s *Service) Entry(ctx context.Context, log string, index int64) (Stored, ledger.Receipt, error) {
	head, err := s.signed(ctx, log)
	if err != nil {
		return Stored{}, ledger.Receipt{}, err
	}
	if index < 0 || index >= head.Size {
		return Stored{}, ledger.Receipt{}, fault.New(fault.NotFound, "the audit log has no entry %d", index)
	}
	entry, err := s.unaltered(ctx, log, index)
	if err != nil {
		return Stored{}, ledger.Receipt{}, err
	}
	proof, err := ledger.ProveInclusion(index, head.Size, treeOf(ctx, s.db, log, head.Size))
	if err == nil {
		// If somebody altered the database, do not hand out a proof that fails.
		err = ledger.CheckInclusion(proof, index, ledger.LeafHash([]byte(entry.Record)), head.Size, head.Root())
	}
	if err != nil {
		return Stored{}, ledger.Receipt{}, fmt.Errorf("prove entry %d of log %s: %w", index, log, err)
	}
	return entry, ledger.Receipt{
		Log:        log,
		Epoch:      head.Epoch,
		Index:      index,
		Leaf:       entry.Leaf,
		Proof:      proof,
		Checkpoint: head.Checkpoint,
	}, nil
}

// InclusionProof proves that an entry is in the log of its first size entries.
func (s *Service) InclusionProof(ctx context.Context, log string, index, size int64) ([]ledger.Hash, error) {
	tree, err := s.treeFor(ctx, log, size)
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= size {
		return nil, fault.Field("index", "must be below size")
	}
	return ledger.ProveInclusion(index, size, tree)
}

// ConsistencyProof proves that the log of size entries begins with that of old.
func (s *Service) ConsistencyProof(ctx context.Context, log string, old, size int64) ([]ledger.Hash, error) {
	tree, err := s.treeFor(ctx, log, size)
	if err != nil {
		return nil, err
	}
	if old < 0 || old > size {
		return nil, fault.Field("from", "must not be above size")
	}
	return ledger.ProveConsistency(old, size, tree)
}

// treeFor is the tree of a log with at least so many entries.
func (s *Service) treeFor(ctx context.Context, log string, size int64) (*nodes, error) {
	head, err := ReadHead(ctx, s.db, log)
	if err != nil {
		return nil, err
	}
	if size < 1 || size > head.Size {
		return nil, fault.Field("size", "must be from 1 to the number of entries, %d", head.Size)
	}
	return treeOf(ctx, s.db, log, head.Size), nil
}
