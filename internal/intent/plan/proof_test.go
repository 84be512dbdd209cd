package plan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"writ/internal/intent/plan"
)

func TestVerifyStep(t *testing.T) {
	t.Parallel()
	d := declared(t, `{"steps":[{"action":"Read"},{"action":"Bash","params":{"command":"make"}},{"action":"Bash"},{"action":"ré"}]}`)
	tree := d.Plan.Tree()
	claim := func(i int) plan.Claim {
		p, _ := tree.ActionProof(i)
		return plan.Claim{Path: p.Path, Digest: p.ValueDigest, Proof: p.Proof}
	}
	typescript := sha256.Sum256([]byte(`"ré"`))
	one, two := 1, 2
	tests := []struct {
		name, tool string
		claim      plan.Claim
		change     func(c *plan.Claim)
		ok         bool
	}{
		{"as it was issued", "Bash", claim(1), func(*plan.Claim) {}, true},
		{"step sent beside the path", "Bash", claim(1), func(c *plan.Claim) { c.StepIndex = &one }, true},
		{"another step beside the path", "Bash", claim(1), func(c *plan.Claim) { c.StepIndex = &two }, false},
		{"written as tool", "bash", claim(1), func(c *plan.Claim) { c.Path = "/steps/[1]/tool" }, true},
		{"no digest", "Bash", claim(1), func(c *plan.Claim) { c.Digest = "" }, true},
		{"another digest", "Bash", claim(1), func(c *plan.Claim) { c.Digest = "dd" }, false},
		{"digest as TypeScript makes it", "ré", claim(3), func(c *plan.Claim) { c.Digest = hex.EncodeToString(typescript[:]) }, true},
		{"all that the step says", "Bash", claim(1), func(c *plan.Claim) {
			p, _ := tree.StepProof(1)
			*c = plan.Claim{Path: p.Path, Digest: p.ValueDigest, Proof: p.Proof}
		}, true},
		{"proof of another step", "Bash", claim(1), func(c *plan.Claim) { c.Proof = claim(2).Proof }, false},
		{"proof of another tool's step", "Read", claim(1), func(*plan.Claim) {}, false},
		{"no proof", "Bash", claim(1), func(c *plan.Claim) { c.Proof = nil }, false},
		{"proof that proves nothing", "Bash", claim(1), func(c *plan.Claim) { c.Proof = plan.Proof{{Position: "left", Hash: "ab"}} }, false},
		{"a step there is not", "Bash", claim(1), func(c *plan.Claim) { c.Path = "/steps/[4]/action" }, false},
		{"a number with zeros", "Bash", claim(1), func(c *plan.Claim) { c.Path = "/steps/[01]/action" }, false},
		{"no path", "Bash", claim(1), func(c *plan.Claim) { c.Path = "" }, false},
		{"the whole plan's path", "Bash", claim(1), func(c *plan.Claim) { c.Path = "/" }, false},
	}
	presented := plan.Presented{PlanID: "p1", Signature: "aabb"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.change(&tt.claim)
			got := plan.VerifyStep(d, presented, "", tt.tool, &tt.claim, d.Binding, noon)
			if got.OK != tt.ok || !got.OK && (got.Drift != plan.BadProof || got.Reason == "") || got.OK && len(got.Steps) != 1 {
				t.Errorf("VerifyStep = %+v, want ok: %t", got, tt.ok)
			}
		})
	}
	if got := plan.VerifyStep(d, presented, "", "Bash", nil, d.Binding, noon); !got.OK || len(got.Steps) != 2 {
		t.Errorf("without a proof: %+v", got)
	}
	if got := plan.VerifyStep(d, plan.Presented{}, "", "Bash", nil, d.Binding, noon); got.OK {
		t.Errorf("without a token: %+v", got)
	}
	if got := plan.VerifyStep(nil, presented, "", "Bash", nil, d.Binding, noon); got.OK {
		t.Errorf("without a plan: %+v", got)
	}
}

func TestParseProof(t *testing.T) {
	t.Parallel()
	many, err := json.Marshal(make(plan.Proof, 65))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		give string
		want int // siblings; -1: refused
	}{
		"as it was issued": {`[{"position":"left","sibling_hash":"ab"}]`, 1},
		"empty":            {`[]`, 0},
		"in an object":     {`{"path":"/steps/[0]/action","proof":[{"position":"left","sibling_hash":"ab"},{"position":"right","sibling_hash":"cd"}]}`, 2},
		"nothing":          {``, -1},
		"null":             {`null`, -1},
		"object without":   {`{}`, -1},
		"text":             {`"[]"`, -1},
		"wrong items":      {`["ab"]`, -1},
		"too many":         {string(many), -1},
		"deep":             {strings.Repeat("[", 100_000), -1},
	} {
		got, ok := plan.ParseProof([]byte(tt.give))
		if ok != (tt.want >= 0) || ok && len(got) != tt.want {
			t.Errorf("%s: %v, %t", name, got, ok)
		}
	}
}
