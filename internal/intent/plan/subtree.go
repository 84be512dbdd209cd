package plan

import (
	"encoding/hex"
	"strings"
)

// Envelope is what a published SDK shows of a sub-tree of a plan, beside the plan's token. Empty: not sent.
type Envelope struct {
	Path       string // of the sub-tree
	Root       string // its hash
	ParentRoot string // of the plan
	Proof      Proof  // that the plan has it
}

// Subtree is a part of a plan's tree.
type Subtree struct {
	Path  string // as the tree spells it: / for the whole plan
	Steps []int
	Hash  string // of its node, in hex
	Proof Proof  // from it to the root
}

// Subtree finds a part of a plan by its path: /steps/[0] and /steps/[0]/action are one step, and / or /steps is all.
func (p *Plan) Subtree(path string) (s Subtree, ok bool) {
	tree := p.Tree()
	if path = SubtreePath(path); path == "/" {
		s = Subtree{Path: "/", Hash: tree.Root(), Proof: Proof{}}
		for i := range p.Steps {
			s.Steps = append(s.Steps, i)
		}
		return s, true
	}
	step, action, ok := parsePath(path)
	if !ok || step >= len(p.Steps) {
		return Subtree{}, false
	}
	proved, _ := tree.StepProof(step)
	if action {
		proved, _ = tree.ActionProof(step)
	}
	hash := Leaf{proved.Path, proved.ValueDigest}.Hash()
	return Subtree{Path: proved.Path, Steps: []int{step}, Hash: hex.EncodeToString(hash[:]), Proof: proved.Proof}, true
}

// SubtreePath is the path of a part of a plan as it is stored.
func SubtreePath(path string) string {
	path = "/" + strings.Trim(path, "/")
	if step, action, ok := parsePath(path); ok && action {
		return ActionPath(step)
	}
	if path == "/steps" {
		return "/"
	}
	return path
}

// SubtreeAt is a part of the version of a plan that has a root, if that is the present or the first one.
func (d *Declared) SubtreeAt(root, path string) (Subtree, bool) {
	for _, version := range []Anchored{{d.Plan, d.Root}, d.first()} {
		if version.Root == root {
			return version.Plan.Subtree(path)
		}
	}
	return Subtree{}, false
}

// Fits reports whether an envelope is of a delegated sub-tree: what it says of the tree must be what was issued, and
// the step that a call proves, if any, must lie inside.
func (e Envelope) Fits(issued Subtree, parentRoot string, proved *Claim) bool {
	if differ(e.Root, issued.Hash) || differ(e.ParentRoot, parentRoot) {
		return false
	}
	if len(e.Proof) > 0 && !sameProof(e.Proof, issued.Proof) {
		return false
	}
	if proved == nil || issued.Path == "/" {
		return true
	}
	step, _, ok := parsePath(proved.Path)
	return ok && len(issued.Steps) == 1 && step == issued.Steps[0]
}

func sameProof(a, b Proof) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
