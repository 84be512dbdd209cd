package plan

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"writ/internal/canonical"
)

// A leaf is a path in the plan and the value there:
//
//	leaf = SHA-256(0x00 || {"digest":"<hex SHA-256 of the value>","path":"<path>"})
//	node = SHA-256(0x01 || left || right)
//
// as in RFC 6962 section 2.1; a node without a right neighbour moves up unchanged. The
// prefixes keep a node from passing for a leaf, and the path in each leaf keeps the
// proof of one step from passing for another.
//
// Leaf 2i is the action of step i, leaf 2i+1 the whole step i, and the last leaf the
// client's whole text.

// Tree is the Merkle tree of a plan.
type Tree struct {
	leaves []Leaf
	levels [][]tlog.Hash // the leaves first, the root alone in the last
}

// Leaf is a path in the plan and the digest of the value there.
type Leaf struct {
	Path   string
	Digest string // hex SHA-256 of the value's canonical JSON
}

// Proof leads from a leaf to the root, from the bottom up.
type Proof []Sibling

// Sibling is the hash beside the one that is being folded, and its side.
type Sibling struct {
	Position string `json:"position"` // left or right
	Hash     string `json:"sibling_hash"`
}

// maxProof bounds the length of a proof.
const maxProof = 64

// Tree makes the plan's tree.
func (p *Plan) Tree() *Tree {
	t := &Tree{leaves: make([]Leaf, 0, 2*len(p.Steps)+1)}
	for i := range p.Steps {
		s := &p.Steps[i]
		t.leaves = append(t.leaves,
			Leaf{ActionPath(i), DigestOf(quoted(s.Action))},
			Leaf{StepPath(i), DigestOf(s.Binding(p.Ordered))})
	}
	t.leaves = append(t.leaves, Leaf{"/", hex.EncodeToString(p.digest[:])})

	level := make([]tlog.Hash, len(t.leaves))
	for i, leaf := range t.leaves {
		level[i] = leaf.Hash()
	}
	t.levels = append(t.levels, level)
	for len(level) > 1 {
		var above []tlog.Hash
		for i := 0; i+1 < len(level); i += 2 {
			above = append(above, tlog.NodeHash(level[i], level[i+1]))
		}
		if len(level)%2 == 1 {
			above = append(above, level[len(level)-1])
		}
		t.levels = append(t.levels, above)
		level = above
	}
	return t
}

// Binding is everything in a step that calls are checked by, in canonical JSON.
func (s *Step) Binding(ordered bool) []byte {
	b := make([]byte, 0, 160)
	b = appendQuoted(append(b, `{"action":`...), s.Action)
	b = s.appendArguments(append(b, `,"arguments":`...))
	b = strconv.AppendInt(append(b, `,"max_calls":`...), s.MaxCalls, 10)
	b = appendQuoted(append(b, `,"mcp":`...), s.Server)
	b = strconv.AppendBool(append(b, `,"ordered":`...), ordered)
	b = strconv.AppendBool(append(b, `,"strict":`...), s.Strict)
	b = appendQuoted(append(b, `,"tool":`...), s.Tool)
	return append(b, '}')
}

// quoted is text as a canonical JSON string.
func quoted(text string) []byte { return appendQuoted(nil, text) }

func appendQuoted(b []byte, text string) []byte {
	raw, err := canonical.AppendString(b, text)
	if err != nil {
		return append(b, `""`...) // only for invalid UTF-8, which Parse refuses
	}
	return raw
}

// ActionPath is the path of the action of step i.
func ActionPath(i int) string { return "/steps/[" + strconv.Itoa(i) + "]/action" }

// StepPath is the path of step i.
func StepPath(i int) string { return "/steps/[" + strconv.Itoa(i) + "]" }

// DigestOf is the digest of a value given in canonical JSON.
func DigestOf(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}

// Hash is the leaf's hash in the tree.
func (l Leaf) Hash() tlog.Hash {
	b := appendQuoted(append(make([]byte, 0, 128), `{"digest":`...), l.Digest)
	return tlog.RecordHash(append(appendQuoted(append(b, `,"path":`...), l.Path), '}'))
}

// Root is the tree's root in hex: the hash of the plan.
func (t *Tree) Root() string { return hexOf(t.levels[len(t.levels)-1][0]) }

// StepProofs are the proofs of the actions, one for each step.
func (t *Tree) StepProofs() []Proof {
	proofs := make([]Proof, len(t.leaves)/2)
	for i := range proofs {
		proofs[i] = t.prove(2 * i)
	}
	return proofs
}

// PathProof is a proof with everything that is needed to check it against the root.
type PathProof struct {
	Path        string `json:"path"`
	StepIndex   int    `json:"step_index"`
	ValueDigest string `json:"value_digest"`
	Proof       Proof  `json:"proof"`
}

// ActionProof proves the action of step i.
func (t *Tree) ActionProof(i int) (PathProof, bool) { return t.pathProof(2*i, i) }

// StepProof proves the whole step i.
func (t *Tree) StepProof(i int) (PathProof, bool) { return t.pathProof(2*i+1, i) }

func (t *Tree) pathProof(leaf, step int) (PathProof, bool) {
	if step < 0 || leaf >= len(t.leaves)-1 {
		return PathProof{}, false
	}
	l := t.leaves[leaf]
	return PathProof{Path: l.Path, StepIndex: step, ValueDigest: l.Digest, Proof: t.prove(leaf)}, true
}

// prove collects the siblings on the way up.
func (t *Tree) prove(index int) Proof {
	proof := Proof{}
	for _, level := range t.levels[:len(t.levels)-1] {
		switch beside := index ^ 1; {
		case beside >= len(level):
		case beside < index:
			proof = append(proof, Sibling{"left", hexOf(level[beside])})
		default:
			proof = append(proof, Sibling{"right", hexOf(level[beside])})
		}
		index /= 2
	}
	return proof
}

// CheckProof reports whether the proof leads from the leaf to the root.
func CheckProof(root string, leaf Leaf, proof Proof) bool {
	if len(proof) > maxProof {
		return false
	}
	hash := leaf.Hash()
	for _, s := range proof {
		sibling, ok := parseHash(s.Hash)
		if !ok {
			return false
		}
		switch s.Position {
		case "left":
			hash = tlog.NodeHash(sibling, hash)
		case "right":
			hash = tlog.NodeHash(hash, sibling)
		default:
			return false
		}
	}
	want, ok := parseHash(root)
	return ok && subtle.ConstantTimeCompare(want[:], hash[:]) == 1
}

func parseHash(text string) (h tlog.Hash, ok bool) {
	if len(text) != hex.EncodedLen(len(h)) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(text))
	return h, err == nil
}

// Node is a node of the tree, to be drawn.
type Node struct {
	ID     string   `json:"id"` // level and index in it: 0.3
	Level  int      `json:"level"`
	Hash   string   `json:"hash"`
	Inputs []string `json:"children"`
	Path   string   `json:"path,omitempty"` // of a leaf
	Digest string   `json:"value_digest,omitempty"`
}

// Nodes lists the tree from the leaves to the root. A node that moved up is listed
// once, on its lowest level.
func (t *Tree) Nodes() []Node {
	nodes := []Node{}
	below := make([]string, len(t.leaves)) // ids of the level below
	for i, leaf := range t.leaves {
		below[i] = nodeID(0, i)
		nodes = append(nodes, Node{
			ID:     below[i],
			Hash:   hexOf(t.levels[0][i]),
			Inputs: []string{},
			Path:   leaf.Path,
			Digest: leaf.Digest,
		})
	}
	for n, level := range t.levels[1:] {
		ids := make([]string, len(level))
		for i, hash := range level {
			if 2*i+1 >= len(below) {
				ids[i] = below[2*i]
				continue
			}
			ids[i] = nodeID(n+1, i)
			nodes = append(nodes, Node{
				ID: ids[i], Level: n + 1, Hash: hexOf(hash), Inputs: []string{below[2*i], below[2*i+1]},
			})
		}
		below = ids
	}
	return nodes
}

func nodeID(level, i int) string { return strconv.Itoa(level) + "." + strconv.Itoa(i) }

func hexOf(h tlog.Hash) string { return hex.EncodeToString(h[:]) }
