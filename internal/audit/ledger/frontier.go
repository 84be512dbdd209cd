package ledger

import (
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Frontier is what a tree needs to grow: the roots of its complete subtrees, largest
// first, one for each bit of its size. The zero value is the empty tree.
type Frontier struct {
	size  int64
	roots []Hash
}

// UnpackFrontier reads what Pack wrote, and refuses what does not fit the size.
func UnpackFrontier(size int64, packed []byte) (Frontier, error) {
	if size < 0 || size > MaxSize || len(packed) != bits.OnesCount64(uint64(size))*tlog.HashSize {
		return Frontier{}, fmt.Errorf("the frontier has %d bytes, which does not fit a log of %d entries", len(packed),
			size)
	}
	f := Frontier{size: size, roots: make([]Hash, len(packed)/tlog.HashSize)}
	for i := range f.roots {
		copy(f.roots[i][:], packed[i*tlog.HashSize:])
	}
	return f, nil
}

// Pack gives the roots one after the other.
func (f *Frontier) Pack() []byte {
	packed := make([]byte, 0, len(f.roots)*tlog.HashSize)
	for _, root := range f.roots {
		packed = append(packed, root[:]...)
	}
	return packed
}

// Equal reports whether two trees have the same leaves.
func (f *Frontier) Equal(other *Frontier) bool {
	return f.size == other.size && slices.Equal(f.roots, other.roots)
}

// Size is the number of leaves.
func (f *Frontier) Size() int64 { return f.size }

// Add appends a leaf: every pair of complete subtrees of one size becomes one
// of twice the size.
func (f *Frontier) Add(leaf Hash) {
	node := leaf
	for range bits.TrailingZeros64(uint64(f.size) + 1) {
		last := len(f.roots) - 1
		node = tlog.NodeHash(f.roots[last], node)
		f.roots = f.roots[:last]
	}
	f.roots = append(f.roots, node)
	f.size++
}

// Root is the Merkle tree hash (RFC 6962 section 2.1).
func (f *Frontier) Root() Hash {
	if len(f.roots) == 0 {
		return emptyRoot
	}
	root := f.roots[len(f.roots)-1]
	for i := len(f.roots) - 2; i >= 0; i-- {
		root = tlog.NodeHash(f.roots[i], root)
	}
	return root
}

// root of the complete subtree of 2^level leaves, where the tree has one.
func (f *Frontier) root(level int) (Hash, bool) {
	if f.size>>level&1 == 0 {
		return Hash{}, false
	}
	return f.roots[bits.OnesCount64(uint64(f.size)>>(level+1))], true
}

// emptyRoot is the hash of the tree without leaves.
var emptyRoot = func() Hash {
	root, err := tlog.TreeHash(0, nil)
	if err != nil {
		panic(err) // the empty tree reads no hashes
	}
	return root
}()
