package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"

	"writ/internal/database"
)

// Head is the present state of a log.
type Head struct {
	Log        string
	Size       int64
	Generation int64
	Epoch      int64
	frontier   []tlog.Hash // roots of the complete subtrees, largest first
}

// add appends a leaf to the tree: every pair of complete subtrees of one size
// becomes one of twice the size (RFC 6962 section 2.1).
func (h *Head) add(leaf tlog.Hash) {
	node := leaf
	for range bits.TrailingZeros64(uint64(h.Size) + 1) {
		last := len(h.frontier) - 1
		node = tlog.NodeHash(h.frontier[last], node)
		h.frontier = h.frontier[:last]
	}
	h.frontier = append(h.frontier, node)
	h.Size++
}

// Root is the Merkle tree hash of the log.
func (h *Head) Root() tlog.Hash {
	if len(h.frontier) == 0 {
		root, err := tlog.TreeHash(0, nil)
		if err != nil {
			panic(err) // the empty tree reads no hashes
		}
		return root
	}
	root := h.frontier[len(h.frontier)-1]
	for i := len(h.frontier) - 2; i >= 0; i-- {
		root = tlog.NodeHash(h.frontier[i], root)
	}
	return root
}

// headKey finds a log's head among the locals of a transaction.
type headKey string

// headIn is the head of a log for the length of the transaction: read once
// under the log's lock, written once before the commit.
func headIn(ctx context.Context, tx *database.Tx, log string) (*Head, error) {
	h := tx.Local(headKey(log), func() any { return &Head{} }).(*Head)
	if h.Log != "" {
		return h, nil
	}
	read, err := ReadHead(ctx, tx, log)
	if err != nil {
		return nil, err
	}
	if read.Log == "" {
		if err := insertHead(ctx, tx, log); err != nil {
			return nil, err
		}
		read.Log = log
	}
	*h = read
	tx.BeforeCommit(func(ctx context.Context) error { return updateHead(ctx, tx, h) })
	return h, nil
}

// ReadHead reads the head of a log. A log nothing was appended to has a head
// with an empty name and size 0.
func ReadHead(ctx context.Context, r database.Reader, log string) (Head, error) {
	var h Head
	var frontier []byte
	err := r.QueryRow(ctx, `
		SELECT log, size, frontier, generation, epoch
		FROM audit_head
		WHERE log = $1`, log).
		Scan(&h.Log, &h.Size, &frontier, &h.Generation, &h.Epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, fmt.Errorf("read the head of log %s: %w", log, err)
	}
	if h.frontier, err = unpack(frontier, h.Size); err != nil {
		return Head{}, fmt.Errorf("head of log %s: %w", log, err)
	}
	return h, nil
}

// ReadHeads reads the head of every log.
func ReadHeads(ctx context.Context, r database.Reader) ([]Head, error) {
	logs, err := database.Collect(ctx, r, func(s database.Scanner) (log string, err error) {
		err = s.Scan(&log)
		return log, err
	}, `SELECT log FROM audit_head ORDER BY log`)
	if err != nil {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	heads := make([]Head, len(logs))
	for i, log := range logs {
		if heads[i], err = ReadHead(ctx, r, log); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

func pack(frontier []tlog.Hash) []byte {
	packed := make([]byte, 0, len(frontier)*tlog.HashSize)
	for _, hash := range frontier {
		packed = append(packed, hash[:]...)
	}
	return packed
}

// unpack refuses a frontier that does not fit the size: a tree of n leaves has
// one complete subtree for each bit of n.
func unpack(packed []byte, size int64) ([]tlog.Hash, error) {
	if len(packed) != bits.OnesCount64(uint64(size))*tlog.HashSize {
		return nil, fmt.Errorf("the frontier has %d bytes, which does not fit a log of %d entries", len(packed), size)
	}
	frontier := make([]tlog.Hash, len(packed)/tlog.HashSize)
	for i := range frontier {
		copy(frontier[i][:], packed[i*tlog.HashSize:])
	}
	return frontier, nil
}
