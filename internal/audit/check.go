package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// Problem is a difference between a log and what is stored of it or beside it. Whoever
// can write to the database can make one, and a check finds it.
type Problem struct {
	Log  string `json:"log"`
	Kind string `json:"kind"`
	// Entries are the indexes it is about, such as 7 or 3-17; empty: no entry.
	Entries string `json:"entries,omitzero"`
	Message string `json:"message"`
}

// The kinds of problems.
const (
	BadHead    = "head"    // the log's size and root are not those that were signed
	BadEntry   = "entry"   // a record or leaf is not the one that was signed
	BadSearch  = "search"  // an entry is found by other values than its record holds
	BadPayload = "payload" // a payload was altered, or is gone without an erasure
	BadTile    = "tile"    // stored hashes are not those of the entries
	BadLog     = "log"     // a log that must exist is gone
	BadPolicy  = "policy"  // a policy is not the one that the log tells of
	BadWitness = "witness" // the log is not the one that the witness has seen
	BadAnchor  = "anchor"  // the log is not the one that the System log has seen
)

const (
	// checkRows is how many entries are read at once.
	checkRows = tileWidth
	// sampledTiles is how many tiles of a log a sample reads, besides the last ones.
	sampledTiles = 4
)

// checker checks one log.
type checker struct {
	l       *Log
	log     string
	head    Head
	missing ledger.Erasures
	found   func(Problem)
}

// Check reads a log whole and gives every problem to found. It is not cheap; entries may
// be appended meanwhile.
func (l *Log) Check(ctx context.Context, log string, found func(Problem)) (entries int64, err error) {
	c, err := l.checkerOf(ctx, log, found)
	if err != nil || c == nil {
		return 0, err
	}
	return c.head.Size, c.unreadable(c.whole(ctx))
}

// Sample checks the head of a log, its last entries and a few others by chance.
func (l *Log) Sample(ctx context.Context, log string, found func(Problem)) error {
	c, err := l.checkerOf(ctx, log, found)
	if err != nil || c == nil {
		return err
	}
	return c.unreadable(c.sample(ctx))
}

// unreadable reports what is stored and cannot be read. It must not end the check of
// other logs, as an error does.
func (c *checker) unreadable(err error) error {
	if errors.Is(err, errTree) {
		c.report(BadEntry, "", "%v", err)
		return nil
	}
	return err
}

func (c *checker) sample(ctx context.Context) error {
	last := c.head.Size / tileWidth // the unfinished tile
	tiles := map[int64]bool{last: true, last - 1: true}
	for range sampledTiles {
		if last > 0 {
			tiles[rand.Int64N(last)] = true
		}
	}
	tree := treeOf(ctx, c.l.db, c.log, c.head.Size)
	for tile := range tiles {
		if tile < 0 || tile*tileWidth >= c.head.Size {
			continue
		}
		if err := c.tile(ctx, tree, tile); err != nil {
			return err
		}
	}
	return c.account(ctx)
}

// checkerOf begins a check with the head. It is nil for a log without entries.
func (l *Log) checkerOf(ctx context.Context, log string, found func(Problem)) (*checker, error) {
	head, err := ReadHead(ctx, l.db, log)
	if err != nil || head.Size == 0 && !head.damaged {
		return nil, err
	}
	c := &checker{l: l, log: log, head: head, found: found}
	if !l.checks() {
		return c, nil
	}
	err = l.proveHead(ctx, l.db, &head)
	if broken, ok := errors.AsType[*HeadError](err); ok {
		c.report(BadHead, "", "%v", broken.Cause)
		return c, nil
	}
	return c, err
}

func (c *checker) report(kind, entries, format string, args ...any) {
	c.found(Problem{Log: c.log, Kind: kind, Entries: entries, Message: fmt.Sprintf(format, args...)})
}

// whole reads every entry, and compares all of them with the head and the tiles.
func (c *checker) whole(ctx context.Context) error {
	var tree ledger.Frontier
	var levels [][]ledger.Hash // hashes of each level that are in no complete tile yet
	for tree.Size() < c.head.Size {
		leaves, err := c.entries(ctx, tree.Size(), min(checkRows, c.head.Size-tree.Size()))
		if err != nil || leaves == nil {
			return err
		}
		for _, leaf := range leaves {
			tree.Add(leaf)
			if levels, err = c.addTo(ctx, levels, 0, leaf, tree.Size()); err != nil {
				return err
			}
		}
	}
	if tree.Root() != c.head.Root() {
		c.report(BadEntry, "", "the entries do not give the root of the log's head")
	}
	return c.account(ctx)
}

// addTo adds a hash to a level, and compares the tile that it completes.
func (c *checker) addTo(
	ctx context.Context, levels [][]ledger.Hash, level int, hash ledger.Hash, size int64,
) ([][]ledger.Hash, error) {
	if level == len(levels) {
		levels = append(levels, nil)
	}
	levels[level] = append(levels[level], hash)
	if len(levels[level]) < tileWidth {
		return levels, nil
	}
	position := size>>(tileHeight*(level+1)) - 1
	root, err := c.compareTile(ctx, level, position, levels[level])
	if err != nil {
		return nil, err
	}
	levels[level] = levels[level][:0]
	return c.addTo(ctx, levels, level+1, root, size)
}

// compareTile compares a stored tile with the hashes it must hold, and gives their root.
func (c *checker) compareTile(
	ctx context.Context, level int, position int64, hashes []ledger.Hash,
) (ledger.Hash, error) {
	var tree ledger.Frontier
	packed := make([]byte, 0, tileWidth*len(ledger.Hash{}))
	for _, hash := range hashes {
		tree.Add(hash)
		packed = append(packed, hash[:]...)
	}
	var stored, root []byte
	err := c.l.db.QueryRow(ctx, `
		SELECT hashes, root
		FROM audit_tile
		WHERE log = $1 AND level = $2 AND position = $3`, c.log, level, position).Scan(&stored, &root)
	want := tree.Root()
	switch {
	case errors.Is(err, sql.ErrNoRows):
		c.report(BadTile, "", "tile %d of level %d is missing", position, level)
	case err != nil:
		return ledger.Hash{}, fmt.Errorf("read tile %d of level %d of log %s: %w", position, level, c.log, err)
	case string(stored) != string(packed) || string(root) != string(want[:]):
		c.report(BadTile, "", "tile %d of level %d does not hold the hashes of its entries", position, level)
	}
	return want, nil
}

// tile checks the entries of one tile, perhaps unfinished, and that they are in the tree.
func (c *checker) tile(ctx context.Context, tree *nodes, position int64) error {
	from := position * tileWidth
	leaves, err := c.entries(ctx, from, min(tileWidth, c.head.Size-from))
	if err != nil || leaves == nil {
		return err
	}
	if len(leaves) == tileWidth {
		if _, err := c.compareTile(ctx, 0, position, leaves); err != nil {
			return err
		}
	}
	// The proof of one entry is made of the hashes of all others of its tile.
	proof, err := ledger.ProveInclusion(from, c.head.Size, tree)
	if err == nil {
		err = ledger.CheckInclusion(proof, from, leaves[0], c.head.Size, c.head.Root())
	}
	if err != nil && ctx.Err() == nil {
		r := ledger.Range{First: from, Last: from + int64(len(leaves)) - 1}
		c.report(BadEntry, r.String(), "%v", err)
		return nil
	}
	return ctx.Err()
}

// entries checks a run of entries, each by itself, and gives their leaves as their
// records say. It is nil where one is missing.
func (c *checker) entries(ctx context.Context, from, count int64) ([]ledger.Hash, error) {
	rows, err := database.Collect(ctx, c.l.db, scanChecked, selectChecked, c.log, from, from+count)
	if err != nil {
		return nil, fmt.Errorf("read log %s from %d: %w", c.log, from, err)
	}
	leaves := make([]ledger.Hash, 0, count)
	for i := range rows {
		if rows[i].Index != from+int64(i) {
			break
		}
		leaves = append(leaves, ledger.LeafHash([]byte(rows[i].Record)))
		c.entry(&rows[i])
	}
	if int64(len(leaves)) < count {
		c.report(BadEntry, ledger.Range{First: from + int64(len(leaves)), Last: from + count - 1}.String(),
			"entry %d is missing", from+int64(len(leaves)))
		return nil, nil
	}
	return leaves, nil
}

// entry checks an entry by itself.
func (c *checker) entry(e *checkedRow) {
	at := ledger.Range{First: e.Index, Last: e.Index}.String()
	record, err := e.Parse()
	switch {
	case err != nil:
		c.report(BadEntry, at, "%v", err)
		return
	case record.Log != c.log || record.Index != e.Index:
		c.report(BadEntry, at, "the record is that of another entry")
		return
	case e.Leaf != ledger.LeafHash([]byte(e.Record)):
		c.report(BadEntry, at, "the stored leaf is not that of the record")
	}
	if column := e.differsFrom(&record); column != "" {
		c.report(BadSearch, at, "the entry is found by another %s than its record holds", column)
	}
	c.payload(&e.Stored, &record, at)
}

// payload checks the payload of an entry, or that it may be gone.
func (c *checker) payload(e *Stored, record *ledger.Record, at string) {
	switch {
	case e.Payload == "" && record.Payload != "":
		if err := c.missing.Missing(record); err != nil {
			c.report(BadPayload, at, "%v", err)
		}
		return
	case e.Payload != "" && (record.Payload == "" || ledger.Commitment(e.Salt, []byte(e.Payload)) != record.Payload):
		c.report(BadPayload, at, "the payload is not the one that the record commits to")
		return
	}
	if err := c.missing.Account(record, []byte(e.Payload)); err != nil {
		c.report(BadPayload, at, "%v", err)
	}
}

// account reads what the log says of erasures, as far as payloads are gone without it: a
// sample has not read it, and a check has not read what was appended since.
func (c *checker) account(ctx context.Context) error {
	if err := c.l.checkEnd(ctx, c.log); errors.Is(err, errBeyond) {
		c.report(BadEntry, "", "%v", err)
	} else if err != nil {
		return err
	}
	gone := c.missing.Unaccounted()
	if len(gone) == 0 {
		return nil
	}
	head, err := ReadHead(ctx, c.l.db, c.log)
	if err != nil {
		return err
	}
	if err := evidenceOf(ctx, c.l.db, c.log, head).account(ctx, gone[0].First, &c.missing); err != nil {
		return err
	}
	for _, r := range c.missing.Unaccounted() {
		c.report(BadPayload, r.String(), "the payload is gone, and no entry says that it was erased")
	}
	return nil
}
