package plan

import (
	"crypto/subtle"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Claim is a proof about a path of a plan, as a client sends it.
type Claim struct {
	Path      string
	StepIndex *int   // nil: not sent
	Digest    string // of the value at the path; empty: not sent
	Proof     Proof
}

// ParseProof reads a proof as it was issued: a list of siblings, or an object
// that holds it under proof.
func ParseProof(raw []byte) (Proof, bool) {
	value := jsontext.Value(raw)
	if value.Kind() == jsontext.KindBeginObject {
		var holder struct {
			Proof jsontext.Value `json:"proof"`
		}
		if json.Unmarshal(raw, &holder) != nil {
			return nil, false
		}
		value = holder.Proof
	}
	if value.Kind() != jsontext.KindBeginArray {
		return nil, false
	}
	var proof Proof
	if json.Unmarshal(value, &proof) != nil || len(proof) > maxProof {
		return nil, false
	}
	return proof, true
}

// leafPath matches the paths of leaves. Some clients write tool for action.
var leafPath = regexp.MustCompile(`^/steps/\[(0|[1-9][0-9]{0,5})\](/action|/tool)?$`)

// parsePath returns the step of a path, and whether the path is that of its action.
func parsePath(path string) (step int, action, ok bool) {
	m := leafPath.FindStringSubmatch(path)
	if m == nil {
		return 0, false, false
	}
	step, err := strconv.Atoi(m[1])
	return step, m[2] != "", err == nil
}

// VerifyStep checks a call by its name alone, and the proof that came with it, if any.
// A result with the drift Widened has steps too.
func VerifyStep(d *Declared, p Presented, server, tool string, claim *Claim, by Binding, now time.Time) Result {
	r := Check(d, p, Call{Server: server, Tool: tool, NoArguments: true}, by, now)
	if !r.OK && r.Drift != Widened {
		return r
	}
	if claim == nil {
		return r
	}
	step, ok := d.proves(*claim)
	switch {
	case !ok:
		return refuse(BadProof,
			"the proof does not lead to the plan's root: send the proof as it was issued with the token")
	case d.First != nil:
		return d.sameAction(r, step)
	case !slices.Contains(r.Steps, step):
		return refuse(BadProof, "the proof is about another step than this tool's")
	}
	r.Steps = []int{step}
	return r
}

// ProveCall checks the proof of a call that fits steps of the plan. Clients prove the first step with the tool's name,
// and the name is all that such a proof binds.
func (d *Declared) ProveCall(steps []int, c Claim) Result {
	step, ok := d.proves(c)
	if !ok {
		return refuse(BadProof,
			"the proof does not lead to the plan's root: send the proof as it was issued with the token")
	}
	return d.sameAction(Result{OK: true, Steps: steps}, step)
}

// sameAction is the result, unless none of its steps has the action of a step that was proved in the plan as its token
// was issued: after a re-anchoring the same step may have another index.
func (d *Declared) sameAction(r Result, proved int) Result {
	action := d.first().Plan.Steps[proved].Action
	for _, i := range r.Steps {
		if d.Plan.Steps[i].Action == action {
			return r
		}
	}
	return refuse(BadProof, "the proof is about another step than this tool's")
}

// Unproved is the result of a call that must prove its step, and does not.
func Unproved() Result {
	return refuse(BadProof, "the call must prove its step: send X-CSRG-Path, X-CSRG-Value-Digest and X-CSRG-Proof "+
		"as they were issued with the token")
}

// proves reports whether a claim holds in the plan as its token was issued, and about which step.
func (d *Declared) proves(c Claim) (step int, ok bool) {
	first := d.first()
	step, action, ok := parsePath(c.Path)
	if !ok || step >= len(first.Plan.Steps) || c.StepIndex != nil && *c.StepIndex != step {
		return 0, false
	}
	s := &first.Plan.Steps[step]
	leaf := Leaf{StepPath(step), DigestOf(s.Binding(first.Plan.Ordered))}
	if action {
		leaf = Leaf{ActionPath(step), DigestOf(quoted(s.Action))}
	}
	if c.Digest != "" && !sameText(c.Digest, leaf.Digest) && !(action && sameText(c.Digest, plainDigest(s.Action))) {
		return 0, false
	}
	return step, CheckProof(first.Root, leaf, c.Proof)
}

func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// plainDigest is the digest of a name as TypeScript makes it, of UTF-8. Python and our
// canonical form escape.
func plainDigest(name string) string {
	text, err := json.Marshal(name)
	if err != nil {
		return ""
	}
	return DigestOf(text)
}

// ActionLeaf is the leaf of a value that a client claims for a path: the name of a
// tool, or a whole step. The value is canonical JSON.
func ActionLeaf(path string, value []byte) (Leaf, bool) {
	step, action, ok := parsePath(path)
	switch {
	case !ok:
		return Leaf{}, false
	case action:
		return Leaf{ActionPath(step), DigestOf(value)}, true
	}
	return Leaf{StepPath(step), DigestOf(value)}, true
}
