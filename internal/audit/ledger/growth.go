package ledger

import (
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// Growth is a tree that grows within one commit. It keeps the nodes that the
// new leaves complete, and so can prove each of them without reading the log.
type Growth struct {
	before Frontier
	size   int64
	// nodes[k] are the roots of the complete subtrees of 2^k leaves that end
	// with a new leaf, in order.
	nodes [][]Hash
}

// Grow begins at a frontier.
func Grow(f Frontier) *Growth { return &Growth{before: f, size: f.size} }

// Size is the number of leaves, old and new.
func (g *Growth) Size() int64 { return g.size }

// Add appends a leaf.
func (g *Growth) Add(leaf Hash) {
	index, node := g.size, leaf
	for level := 0; ; level++ {
		if level == len(g.nodes) {
			g.nodes = append(g.nodes, nil)
		}
		g.nodes[level] = append(g.nodes[level], node)
		if index&1 == 0 {
			break // its sibling is still to come
		}
		node = tlog.NodeHash(g.node(level, index-1), node)
		index >>= 1
	}
	g.size++
}

// node is the root of the complete subtree number index of 2^level leaves. It ends with
// a new leaf or belongs to the frontier: every other old node is below the frontier.
func (g *Growth) node(level int, index int64) Hash {
	first := g.before.size >> level
	if index >= first {
		return g.nodes[level][index-first]
	}
	root, ok := g.before.root(level)
	if !ok || index != first-1 {
		panic(fmt.Sprintf("node %d of level %d is not of the frontier of %d leaves", index, level, g.before.size))
	}
	return root
}

// Frontier is that of the whole tree.
func (g *Growth) Frontier() Frontier {
	f := Frontier{size: g.size, roots: make([]Hash, 0, bits.OnesCount64(uint64(g.size)))}
	for level := bits.Len64(uint64(g.size)) - 1; level >= 0; level-- {
		if n := g.size >> level; n&1 == 1 {
			f.roots = append(f.roots, g.node(level, n-1))
		}
	}
	return f
}

// Grown is a tree that has stopped growing. It is safe for concurrent use.
type Grown struct {
	tree *Growth
	root Hash
	// edge[k] is the root of the last subtree of up to 2^k leaves, complete or not.
	edge []Hash
}

// End gives the tree as it is. Nothing may be added after it.
func (g *Growth) End() *Grown {
	if g.size == g.before.size {
		return &Grown{tree: g, root: g.before.Root()}
	}
	last := g.size - 1
	levels := bits.Len64(uint64(last))
	edge := make([]Hash, levels+1)
	edge[0] = g.node(0, last)
	for level := range levels {
		edge[level+1] = edge[level]
		if index := last >> level; index&1 == 1 {
			edge[level+1] = tlog.NodeHash(g.node(level, index-1), edge[level])
		}
	}
	return &Grown{tree: g, root: edge[levels], edge: edge}
}

// Size is the number of leaves.
func (g *Grown) Size() int64 { return g.tree.size }

// Root is the Merkle tree hash.
func (g *Grown) Root() Hash { return g.root }

// Proof is the inclusion proof of a new leaf (RFC 6962 section 2.1.1): its
// siblings on the way to the root.
func (g *Grown) Proof(index int64) ([]Hash, error) {
	if index < g.tree.before.size || index >= g.tree.size {
		return nil, fmt.Errorf("entry %d is not one of %d to %d", index, g.tree.before.size, g.tree.size-1)
	}
	proof := make([]Hash, 0, len(g.edge))
	last := g.tree.size - 1
	for level := 0; last > 0; level++ {
		switch {
		case index&1 == 1:
			proof = append(proof, g.tree.node(level, index-1))
		case index+1 < last:
			proof = append(proof, g.tree.node(level, index+1))
		case index+1 == last:
			proof = append(proof, g.edge[level])
		} // else the subtree has no sibling yet, and is its own parent
		index, last = index>>1, last>>1
	}
	return proof, nil
}
