package plan

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Claim is a proof that someone sends about a place in a plan.
type Claim struct {
	Path      string
	StepIndex *int   // where it is sent beside the path
	Digest    string // of the value there; empty: not sent
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

// places are the paths of leaves; clients write the action's also as tool.
var places = regexp.MustCompile(`^/steps/\[(0|[1-9][0-9]{0,5})\](/action|/tool)?$`)

// parsePath reads the step a path is about, and whether it is about its action.
func parsePath(path string) (step int, action, ok bool) {
	m := places.FindStringSubmatch(path)
	if m == nil {
		return 0, false, false
	}
	step, err := strconv.Atoi(m[1])
	return step, m[2] != "", err == nil
}

// VerifyStep judges a call of which only the name is known, and the proof that
// came with it, if any. Arguments are judged where they are sent, and steps that
// the plan counts or orders where a use is claimed: asking this uses nothing up,
// and would be answered yes for ever.
func VerifyStep(d *Declared, p Presented, server, tool string, claim *Claim, by Binding, now time.Time) Result {
	r := Check(d, p, Call{Server: server, Tool: tool, NoArguments: true}, by, now)
	if !r.OK {
		return r
	}
	if claim == nil {
		return d.Plan.uncounted(r.Steps)
	}
	step, ok := d.proves(*claim)
	switch {
	case !ok:
		return refuse(BadProof,
			"the proof does not lead to the plan's root: send the proof as it was issued with the token")
	case !slices.Contains(r.Steps, step):
		return refuse(BadProof, "the proof is about another step than this tool's")
	}
	return d.Plan.uncounted([]int{step})
}

// uncounted are those of the steps that may be used without a claim.
func (p *Plan) uncounted(steps []int) Result {
	free := slices.DeleteFunc(slices.Clone(steps), func(i int) bool { return p.Ordered || p.Steps[i].MaxCalls > 0 })
	if len(free) == 0 {
		return refuse(Counted,
			"the plan orders or counts this step, and asking here uses nothing up: ask POST /iap/sdk/enforce")
	}
	return Result{OK: true, Steps: free}
}

// proves reports whether a claim holds in the plan, and about which step.
func (d *Declared) proves(c Claim) (step int, ok bool) {
	step, action, ok := parsePath(c.Path)
	if !ok || step >= len(d.Plan.Steps) || c.StepIndex != nil && *c.StepIndex != step {
		return 0, false
	}
	s := &d.Plan.Steps[step]
	leaf := Leaf{StepPath(step), DigestOf(s.binding(d.Plan.Ordered))}
	if action {
		leaf = Leaf{ActionPath(step), DigestOf(quoted(s.Action))}
	}
	if c.Digest != "" && !sameText(c.Digest, leaf.Digest) && !(action && sameText(c.Digest, plainDigest(s.Action))) {
		return 0, false
	}
	return step, CheckProof(d.Root, leaf, c.Proof)
}

func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// plainDigest is the digest of a name as TypeScript makes it, over UTF-8 where
// Python, and our canonical form, have escapes.
func plainDigest(name string) string {
	text, err := json.Marshal(name)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ActionLeaf is the leaf of a value that is claimed to stand at a path: the
// name of a tool, or a step as the tree has it. The value is canonical JSON.
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
