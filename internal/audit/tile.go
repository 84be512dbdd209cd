package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// A tile is 256 hashes of one level: the leaves of level 0, and at level n+1 the
// roots of the tiles of level n.
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// errTree: hashes are missing or cannot be read. It is what is stored that is wrong, not
// the reading of it.
var errTree = errors.New("the stored hashes are not whole")

// spanned is how many complete tiles of a level a log of this size has.
func spanned(size int64, level int) int64 { return size >> (tileHeight * (level + 1)) }

// writeTiles writes the tiles that became complete between two sizes.
func writeTiles(ctx context.Context, tx *database.Tx, log string, before, size int64) error {
	for level := 0; spanned(size, level) > spanned(before, level); level++ {
		for position := spanned(before, level); position < spanned(size, level); position++ {
			if err := writeTile(ctx, tx, log, level, position); err != nil {
				return fmt.Errorf("write tile %d of level %d of log %s: %w", position, level, log, err)
			}
		}
	}
	return nil
}

func writeTile(ctx context.Context, tx *database.Tx, log string, level int, position int64) error {
	hashes, err := readRun(ctx, tx, log, level, position*tileWidth, tileWidth)
	if err != nil {
		return err
	}
	var tree ledger.Frontier
	packed := make([]byte, 0, tileWidth*tlog.HashSize)
	for _, hash := range hashes {
		tree.Add(hash)
		packed = append(packed, hash[:]...)
	}
	root := tree.Root()
	_, err = tx.Exec(ctx, `
		INSERT INTO audit_tile (log, level, position, root, hashes)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (log, level, position) DO NOTHING`, log, level, position, root[:], packed)
	return err
}

// readRun reads hashes of a level that are in no tile yet: from the entries, or the
// roots of the tiles below.
func readRun(
	ctx context.Context, r database.Reader, log string, level int, from int64, count int,
) ([]ledger.Hash, error) {
	query, args := `
		SELECT leaf
		FROM audit_entry
		WHERE log = $1 AND position >= $2 AND position < $3
		ORDER BY position`, []any{log, from, from + int64(count)}
	if level > 0 {
		query, args = `
			SELECT root
			FROM audit_tile
			WHERE log = $1 AND position >= $2 AND position < $3 AND level = $4
			ORDER BY position`, append(args, level-1)
	}
	hashes, err := database.Collect(ctx, r, func(s database.Scanner) (ledger.Hash, error) {
		var raw []byte
		if err := s.Scan(&raw); err != nil {
			return ledger.Hash{}, err
		}
		return toHash(raw)
	}, query, args...)
	if err != nil {
		return nil, err
	}
	if len(hashes) != count {
		return nil, fmt.Errorf("%w: %d hashes are stored from %d on, and %d should be", errTree, len(hashes), from,
			count)
	}
	return hashes, nil
}

// nodes reads a stored log's tree. A node is computed from the hashes of one
// tile, read whole and once.
type nodes struct {
	ctx   context.Context //nolint:containedctx // tlog's HashReader takes none
	r     database.Reader
	log   string
	size  int64 // of the log, which may be larger than the tree asked about
	tiles map[tileID][]ledger.Hash
}

type tileID struct {
	level    int
	position int64
}

func treeOf(ctx context.Context, r database.Reader, log string, size int64) *nodes {
	return &nodes{
		ctx:   ctx,
		r:     r,
		log:   log,
		size:  size,
		tiles: map[tileID][]ledger.Hash{},
	}
}

// ReadHashes reads complete subtrees by tlog's numbers.
func (n *nodes) ReadHashes(indexes []int64) ([]ledger.Hash, error) {
	hashes := make([]ledger.Hash, len(indexes))
	for i, index := range indexes {
		level, number := tlog.SplitStoredHashIndex(index)
		at := tileID{level / tileHeight, number >> (tileHeight - level%tileHeight)}
		tile, err := n.tile(at)
		if err != nil {
			return nil, fmt.Errorf("read tile %d of level %d of log %s: %w", at.position, at.level, n.log, err)
		}
		width := 1 << (level % tileHeight)
		first := int(number<<(level%tileHeight)) & (tileWidth - 1)
		if first+width > len(tile) {
			return nil, fmt.Errorf("%w: tile %d of level %d of log %s has %d hashes, and more are asked for", errTree,
				at.position, at.level, n.log, len(tile))
		}
		var tree ledger.Frontier
		for _, hash := range tile[first : first+width] {
			tree.Add(hash)
		}
		hashes[i] = tree.Root()
	}
	return hashes, nil
}

// tile reads a tile, or as much of it as there is.
func (n *nodes) tile(at tileID) ([]ledger.Hash, error) {
	if tile, ok := n.tiles[at]; ok {
		return tile, nil
	}
	there := n.size>>(tileHeight*at.level) - at.position*tileWidth
	var tile []ledger.Hash
	var err error
	if there >= tileWidth {
		tile, err = n.complete(at)
	} else {
		tile, err = readRun(n.ctx, n.r, n.log, at.level, at.position*tileWidth, int(max(there, 0)))
	}
	if err != nil {
		return nil, err
	}
	n.tiles[at] = tile
	return tile, nil
}

func (n *nodes) complete(at tileID) ([]ledger.Hash, error) {
	var packed []byte
	err := n.r.QueryRow(n.ctx, `
		SELECT hashes
		FROM audit_tile
		WHERE log = $1 AND level = $2 AND position = $3`, n.log, at.level, at.position).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: it is missing", errTree)
	}
	if err != nil {
		return nil, err
	}
	if len(packed) != tileWidth*tlog.HashSize {
		return nil, fmt.Errorf("%w: it has %d bytes", errTree, len(packed))
	}
	tile := make([]ledger.Hash, tileWidth)
	for i := range tile {
		copy(tile[i][:], packed[i*tlog.HashSize:])
	}
	return tile, nil
}
