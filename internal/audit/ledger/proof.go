package ledger

import (
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// HashReader reads complete subtrees of a stored log, numbered as in x/mod's tlog.
type HashReader = tlog.HashReader

// ProveInclusion proves that a leaf is in the tree of the first size leaves
// (RFC 6962 section 2.1.1).
func ProveInclusion(index, size int64, r HashReader) ([]Hash, error) {
	if index < 0 || index >= size || size > MaxSize {
		return nil, fmt.Errorf("a log of %d entries has no entry %d", size, index)
	}
	return guard(func() ([]Hash, error) { return tlog.ProveRecord(size, index, r) })
}

// CheckInclusion checks that leaf is number index of the tree.
func CheckInclusion(proof []Hash, index int64, leaf Hash, size int64, root Hash) error {
	if size > MaxSize || tlog.CheckRecord(proof, size, root, index, leaf) != nil {
		return fmt.Errorf("entry %d is not proved to be in the log of %d entries", index, size)
	}
	return nil
}

// ProveConsistency proves that the tree of size leaves begins with that of old
// leaves (RFC 6962 section 2.1.2). Of an empty log there is nothing to prove.
func ProveConsistency(old, size int64, r HashReader) ([]Hash, error) {
	if old < 0 || old > size || size > MaxSize {
		return nil, fmt.Errorf("a log of %d entries does not begin with %d entries", size, old)
	}
	if old == 0 {
		return []Hash{}, nil
	}
	return guard(func() ([]Hash, error) { return tlog.ProveTree(size, old, r) })
}

// CheckConsistency checks that the later tree begins with the earlier one.
func CheckConsistency(proof []Hash, old int64, oldRoot Hash, size int64, root Hash) error {
	if old == 0 && size >= 0 && len(proof) == 0 && oldRoot == emptyRoot {
		return nil
	}
	if size > MaxSize || tlog.CheckTree(proof, size, root, old, oldRoot) != nil {
		return fmt.Errorf("the log of %d entries is not proved to begin with that of %d entries", size, old)
	}
	return nil
}

// FrontierOf is the frontier of the first size leaves of a stored log.
func FrontierOf(size int64, r HashReader) (Frontier, error) {
	if size < 0 || size > MaxSize {
		return Frontier{}, errors.New("no log has such a size")
	}
	var indexes []int64
	for level := bits.Len64(uint64(size)) - 1; level >= 0; level-- {
		if n := size >> level; n&1 == 1 {
			indexes = append(indexes, tlog.StoredHashIndex(level, n-1))
		}
	}
	roots, err := r.ReadHashes(indexes)
	if err != nil {
		return Frontier{}, err
	}
	if len(roots) != len(indexes) {
		return Frontier{}, fmt.Errorf("read the log's hashes: %d of %d are there", len(roots), len(indexes))
	}
	return Frontier{size: size, roots: roots}, nil
}

// guard turns tlog's panic over a reader that returned too little into an error.
func guard(prove func() ([]Hash, error)) (proof []Hash, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read the log's hashes: %v", r)
		}
	}()
	return prove()
}
