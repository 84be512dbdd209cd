package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// Head is the present state of a log.
type Head struct {
	Log  string
	Size int64
	Version
	// Checkpoint is the signed checkpoint of this very size; empty: the last entry was
	// appended without the key.
	Checkpoint string

	frontier ledger.Frontier
	// state is what the entries say that is looked up here, and seal that it was this
	// installation that wrote it.
	state, seal string
	// damaged: the frontier does not fit the size, and Size is 0. The log is refused.
	damaged bool
}

// State is what the head says beyond size and root. It is of use only for comparing: no
// seal of it was checked.
func (h *Head) State() string { return h.state }

// Root is the Merkle tree hash of the log.
func (h *Head) Root() ledger.Hash { return h.frontier.Root() }

// running is a log that grows within a transaction, shared by its changes.
type running struct {
	head Head // as it was read; Generation and Epoch as they will be
	tree *ledger.Growth
	rows [][]any // of the new entries, written together before the commit

	notes []any // for the follower

	// Set at the end of the transaction, and read only after it.
	grown     *ledger.Grown
	committed bool
}

// runningIn is a log for the length of the transaction: its head is read once, under the
// log's lock, and written once, before the commit.
func (l *Log) runningIn(ctx context.Context, tx *database.Tx, log string) (*running, error) {
	all := l.running.In(tx)
	if r := (*all)[log]; r != nil {
		return r, nil
	}
	head, err := scanHead(tx.Prepared().QueryRow(ctx, selectHead, log), log)
	if err != nil {
		return nil, err
	}
	if err := l.checkHead(ctx, tx, log, &head, true); err != nil {
		return nil, err
	}
	if head.damaged {
		if err := l.mend(ctx, tx, &head); err != nil {
			return nil, err
		}
	}
	if head.Size == 0 && !l.mayBegin(tx, log) {
		return nil, refusal(&HeadError{log, errGone})
	}
	isNew := head.Log == ""
	head.Log = log
	return l.run(ctx, tx, head, isNew)
}

// run has a log grow from a head within the transaction.
func (l *Log) run(ctx context.Context, tx *database.Tx, head Head, isNew bool) (*running, error) {
	log := head.Log
	if isNew {
		if err := insertHead(ctx, tx, log); err != nil {
			return nil, err
		}
	}
	r := &running{head: head, tree: ledger.Grow(head.frontier)}
	all := l.running.In(tx)
	if *all == nil {
		*all = map[string]*running{}
	}
	(*all)[log] = r
	tx.BeforeCommit(func(ctx context.Context) error { return r.finish(ctx, tx, l.signerIn(tx)) })
	tx.AfterCommit(func() {
		r.committed = true
		l.trust.remember(&r.head)
		if l.follower != nil {
			l.follower.Committed(log, r.head.Epoch, head.Size, r.head.Size, r.notes)
		}
		r.notes = nil // whoever has a receipt still to make keeps r
	})
	return r, nil
}

// Follower is told of what this process appended, commit by commit, before those
// who wait for the commit are answered.
type Follower interface {
	// Committed: a log has new entries, from one index to before another, with these
	// notes in their order.
	Committed(log string, epoch, from, to int64, notes []any)
	// Erased: payloads of a log are gone.
	Erased(log string)
}

// Version is that of a log within a transaction that holds its lock: the stored head
// and all that this transaction has changed since, which no reader of the row can
// see. A decision that was prepared at an older one is prepared again.
func (l *Log) Version(ctx context.Context, tx *database.Tx, log string) (Version, error) {
	if !tx.HoldsLog(log) {
		return Version{}, fmt.Errorf("read the generation of log %s: the change does not declare that log", log)
	}
	r, err := l.runningIn(ctx, tx, log)
	if err != nil {
		return Version{}, err
	}
	return r.head.Version, nil
}

// finish signs the log as it will be, and writes its new entries, its head and the tiles
// that became complete. The entries of one commit share statements: one statement each
// would double the cost of a decision.
func (r *running) finish(ctx context.Context, tx *database.Tx, s *signer) (err error) {
	r.grown = r.tree.End()
	before := r.head.Size
	r.head.Size, r.head.frontier = r.tree.Size(), r.tree.Frontier()
	if r.head.Checkpoint, err = s.sign(&r.head, r.grown.Root()); err != nil {
		return err
	}
	r.head.seal = s.seal(&r.head)
	if err := insertEntries(ctx, tx, r.rows); err != nil {
		return fmt.Errorf("append to log %s: %w", r.head.Log, err)
	}
	if err := writeTiles(ctx, tx, r.head.Log, before, r.head.Size); err != nil {
		return err
	}
	return updateHead(ctx, tx, &r.head)
}

// takeState takes up what a new entry says of the state.
func (r *running) takeState(record *ledger.Record) error {
	begins := record.Log == System && record.Action == ledger.Begun
	anchors := record.Log == System && record.Action == ledger.Anchored
	if record.Policies == "" && !begins && !anchors {
		return nil
	}
	now, err := r.head.readState()
	if err != nil {
		return err
	}
	switch {
	case begins:
		now.Logs++
	case anchors:
		now.Anchors = record.Index + 1
	default:
		now.Policies = record.Policies
	}
	r.head.state = now.text()
	return nil
}

// signer signs the checkpoints of all logs of an installation.
type signer struct {
	installation string
	key          note.Signer // nil: this log signs nothing
	public       string      // of the key, as a note verifier
	sealKey      []byte
}

// seal seals a head that was signed; a log without a key has none.
func (s *signer) seal(h *Head) string {
	if s.key == nil {
		return ""
	}
	return sealOf(s.sealKey, h)
}

func (s *signer) sign(h *Head, root ledger.Hash) (string, error) {
	switch {
	case s == nil:
		return "", errNotOpened
	case s.key == nil:
		return "", nil
	}
	origin := ledger.Origin{Installation: s.installation, Log: h.Log, Epoch: h.Epoch}
	return ledger.Checkpoint{Origin: origin, Size: h.Size, Root: root}.Sign(s.key)
}

// ReadHead reads the head of a log. That of an empty log has no name and size 0.
func ReadHead(ctx context.Context, r database.Reader, log string) (Head, error) {
	return scanHead(r.QueryRow(ctx, selectHead, log), log)
}

const selectHead = `
	SELECT log, size, frontier, generation, epoch, checkpoint, state, seal
	FROM audit_head
	WHERE log = $1`

func scanHead(row database.Scanner, log string) (Head, error) {
	var h Head
	var frontier []byte
	err := row.Scan(&h.Log, &h.Size, &frontier, &h.Generation, &h.Epoch, &h.Checkpoint, &h.state, &h.seal)
	if errors.Is(err, sql.ErrNoRows) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, fmt.Errorf("read the head of log %s: %w", log, err)
	}
	h.unpack(frontier)
	return h, nil
}

// readSignedHeads reads the heads of the logs that were written since an instant; 0: all, whatever instant they say.
func readSignedHeads(ctx context.Context, r database.Reader, since int64) ([]Head, error) {
	heads, err := database.Collect(ctx, r, func(s database.Scanner) (Head, error) { return scanHead(s, "") }, `
		SELECT log, size, frontier, generation, epoch, checkpoint, state, seal
		FROM audit_head
		WHERE updated_at >= $1 OR $1 = 0
		ORDER BY log`, since)
	if err != nil {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	return heads, nil
}

// ReadHeads reads the head of every log without its checkpoint, which an old database
// that a restore compares with may not have.
func ReadHeads(ctx context.Context, r database.Reader) ([]Head, error) {
	heads, err := database.Collect(ctx, r, func(s database.Scanner) (Head, error) {
		var h Head
		var frontier []byte
		if err := s.Scan(&h.Log, &h.Size, &frontier, &h.Generation, &h.Epoch); err != nil {
			return Head{}, err
		}
		h.unpack(frontier)
		return h, nil
	}, `
		SELECT log, size, frontier, generation, epoch
		FROM audit_head
		ORDER BY log`)
	if err != nil {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	return heads, nil
}

// unpack reads the frontier. One that cannot be read is no error: the heads of other logs
// are read with it.
func (h *Head) unpack(frontier []byte) {
	var err error
	if h.frontier, err = ledger.UnpackFrontier(h.Size, frontier); err != nil {
		h.Size, h.damaged = 0, true
	}
}

// mend gives a damaged head the size and root of the entries that are stored, so that a
// restore can go on from them. Nothing else may.
func (l *Log) mend(ctx context.Context, tx *database.Tx, h *Head) error {
	if !l.restoring {
		return refusal(&HeadError{h.Log, errMismatched})
	}
	read := newStateReader(h.Log)
	if err := read.until(ctx, tx, ledger.MaxSize); err != nil && !errors.Is(err, errNoRoot) {
		return err
	}
	h.Size, h.frontier, h.damaged = read.tree.Size(), read.tree, false
	return nil
}
