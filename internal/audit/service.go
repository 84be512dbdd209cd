package audit

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/fault"
)

// KeySource gives the key that signs checkpoints now.
type KeySource func(ctx context.Context) (ed25519.PrivateKey, error)

// Service reads the logs, and has every transaction of its database sign them.
type Service struct {
	db           *database.DB
	keys         KeySource
	installation string
	current      atomic.Pointer[signer]
	also         Eraser // nil: nothing is copied
}

// Open makes the service. From its return on, all that is appended through db is
// signed. The key is fetched here and by RefreshKey, never inside a transaction.
func Open(ctx context.Context, db *database.DB, keys KeySource) (*Service, error) {
	s := &Service{db: db, keys: keys}
	var err error
	if s.installation, err = installationOf(ctx, db); err != nil {
		return nil, fmt.Errorf("open the audit log: name this installation: %w", err)
	}
	if err := s.RefreshKey(ctx); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	if err := s.fillTiles(ctx); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return s, nil
}

// RefreshKey takes up a key that was rotated, here or by another replica. Until
// then the old one signs, which verifiers still know.
func (s *Service) RefreshKey(ctx context.Context) error {
	private, err := s.keys(ctx)
	if err != nil {
		return fmt.Errorf("load the key for checkpoints: %w", err)
	}
	next := &signer{installation: s.installation}
	if next.key, err = ledger.NewSigner(s.installation, private); err != nil {
		return fmt.Errorf("load the key for checkpoints: %w", err)
	}
	if next.public, err = s.KeyText(private.Public().(ed25519.PublicKey)); err != nil {
		return err
	}
	s.current.Store(next)
	s.db.Share(signerKey{}, next)
	return nil
}

// PublicKey is the key that signs now, as a note verifier.
func (s *Service) PublicKey() string { return s.current.Load().public }

// KeyText is a key of this installation, perhaps a retired one, as a note verifier.
func (s *Service) KeyText(public ed25519.PublicKey) (string, error) {
	return ledger.KeyText(s.installation, public)
}

// installationOf is the name of this installation, made on first use. The lock of
// the System log has replicas agree on one.
func installationOf(ctx context.Context, db *database.DB) (id string, err error) {
	if id, err = readInstallation(ctx, db); err != nil || id != "" {
		return id, err
	}
	err = db.Write(ctx, database.Change{Logs: []string{System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		if id, err = readInstallation(ctx, tx); err != nil || id != "" {
			return err
		}
		id = database.NewID()
		_, err = tx.Exec(ctx, `INSERT INTO audit_installation (id) VALUES ($1)`, id)
		return err
	}})
	return id, err
}

// readInstallation reads the name, which is empty before there is one.
func readInstallation(ctx context.Context, r database.Reader) (id string, err error) {
	err = r.QueryRow(ctx, `SELECT id FROM audit_installation`).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// fillTiles writes the tiles of logs that grew before there were any.
func (s *Service) fillTiles(ctx context.Context) error {
	heads, err := ReadHeads(ctx, s.db)
	if err != nil {
		return err
	}
	for _, head := range heads {
		for level := 0; spanned(head.Size, level) > 0; level++ {
			if err := s.fillLevel(ctx, head, level); err != nil {
				return fmt.Errorf("write the tiles of log %s: %w", head.Log, err)
			}
		}
	}
	return nil
}

// fillLevel writes those that lack. They are the first ones, because every
// append since writes its own.
func (s *Service) fillLevel(ctx context.Context, head Head, level int) error {
	missing := spanned(head.Size, level)
	err := s.db.QueryRow(ctx, `
		SELECT COALESCE(MIN(position), $3)
		FROM audit_tile
		WHERE log = $1 AND level = $2`, head.Log, level, missing).Scan(&missing)
	if err != nil {
		return err
	}
	for position := range missing {
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			return writeTile(ctx, tx, head.Log, level, position)
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// signed is the head of a log with its checkpoint. What was appended by someone
// without the key (a restore) is signed now: it is committed, and so may be.
func (s *Service) signed(ctx context.Context, log string) (Head, error) {
	head, err := ReadHead(ctx, s.db, log)
	if err != nil {
		return Head{}, err
	}
	if head.Size == 0 {
		return Head{}, fault.New(fault.NotFound, "this audit log has no entries")
	}
	if head.Checkpoint == "" {
		head.Checkpoint, err = s.current.Load().sign(&head, head.Root())
	}
	return head, err
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
	entry, err := scanEntry(s.db.QueryRow(ctx, selectEntry+`WHERE log = $1 AND position = $2`, log, index))
	if err != nil {
		return Stored{}, ledger.Receipt{}, fmt.Errorf("read entry %d of log %s: %w", index, log, err)
	}
	proof, err := ledger.ProveInclusion(index, head.Size, treeOf(ctx, s.db, log, head.Size))
	if err == nil {
		// Whoever changed the database would else have us hand out a proof that fails.
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

// treeFor is the tree of a log that has been at least this large.
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
