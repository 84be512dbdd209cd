package plan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"writ/internal/intent/plan"
)

func TestVerifyStep(t *testing.T) {
	t.Parallel()
	d := declared(t,
		`{"steps":[{"action":"Read"},{"action":"Bash","params":{"command":"make"}},{"action":"Bash"},{"action":"ré"}]}`)
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
		{
			"digest as TypeScript makes it", "ré", claim(3),
			func(c *plan.Claim) { c.Digest = hex.EncodeToString(typescript[:]) }, true,
		},
		{"all that the step says", "Bash", claim(1), func(c *plan.Claim) {
			p, _ := tree.StepProof(1)
			*c = plan.Claim{Path: p.Path, Digest: p.ValueDigest, Proof: p.Proof}
		}, true},
		{"proof of another step", "Bash", claim(1), func(c *plan.Claim) { c.Proof = claim(2).Proof }, false},
		{"proof of another tool's step", "Read", claim(1), func(*plan.Claim) {}, false},
		{"no proof", "Bash", claim(1), func(c *plan.Claim) { c.Proof = nil }, false},
		{
			"proof that proves nothing", "Bash", claim(1),
			func(c *plan.Claim) { c.Proof = plan.Proof{{Position: "left", Hash: "ab"}} }, false,
		},
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
			if got.OK != tt.ok || !got.OK && (got.Drift != plan.BadProof || got.Reason == "") ||
				got.OK && len(got.Steps) != 1 {
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

// TestVerifyStepOfCountedSteps: order and counts are a matter of the claim, which comes after it.
func TestVerifyStepOfCountedSteps(t *testing.T) {
	t.Parallel()
	presented := plan.Presented{PlanID: "p1", Signature: "aabb"}
	for _, tt := range []struct {
		name, plan string
		step       int // that a proof is about; -1: none
		want       []int
	}{
		{"free", `{"steps":[{"action":"a"}]}`, -1, []int{0}},
		{"counted", `{"steps":[{"action":"a","max_calls":2}]}`, -1, []int{0}},
		{"ordered", `{"ordered":true,"steps":[{"action":"a"},{"action":"b"},{"action":"a"}]}`, -1, []int{0, 2}},
		{"ordered, proved", `{"ordered":true,"steps":[{"action":"a"},{"action":"b"},{"action":"a"}]}`, 2, []int{2}},
		{"the counted one proved", `{"steps":[{"action":"a","max_calls":1},{"action":"a"}]}`, 0, []int{0}},
	} {
		d := declared(t, tt.plan)
		var claim *plan.Claim
		if tt.step >= 0 {
			p, _ := d.Plan.Tree().ActionProof(tt.step)
			claim = &plan.Claim{Path: p.Path, Digest: p.ValueDigest, Proof: p.Proof}
		}
		got := plan.VerifyStep(d, presented, "", "a", claim, d.Binding, noon)
		if !got.OK || !slices.Equal(got.Steps, tt.want) {
			t.Errorf("%s: %+v, want the steps %v", tt.name, got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ action, server, called, want string }{
		{"Read", "fs", "Read", "[{{fs Read} 0}]"},
		{"Read", "fs", "read", "[{{fs Read} 0} {{fs read} 0}]"},
		{"read", "fs", " fs__read ", "[{{fs read} 0}]"},
		{"read", "fs", "mcp__fs__READ", "[{{fs read} 0} {{fs READ} 0}]"},
		{"db__drop", "fs", "db__drop", "[{{fs db__drop} 0} {{db drop} 2}]"},
		{
			"mcp__db__drop", "claude-code", "mcp__db__DROP",
			"[{{db DROP} 0} {{claude-code mcp__db__DROP} 4} {{db drop} 0} {{claude-code mcp__db__drop} 4}]",
		},
		{"pay", "bank", "mcp_bank_PAY", "[{{bank pay} 0} {{bank PAY} 0} {{mcp_bank PAY} 2}]"},
		{
			"mcp_bank_pay", "gemini-cli", "mcp_bank_pay",
			"[{{unknown mcp_bank_pay} 1} {{bank pay} 2} {{mcp_bank pay} 2} {{gemini-cli mcp_bank_pay} 4}]",
		},
		{"__drop", "fs", "__drop", "[{{fs __drop} 0}]"},
	} {
		p := parse(t, `{"steps":[{"action":"`+tt.action+`","mcp":"`+tt.server+`"}]}`)
		if got := fmt.Sprint(p.Steps[0].Names(tt.called)); got != tt.want {
			t.Errorf("%s of %s, called %q: %s, want %s", tt.action, tt.server, tt.called, got, tt.want)
		}
		if fit := p.Fit(plan.Call{Tool: tt.called}); !fit.OK {
			t.Errorf("%s of %s does not fit %q", tt.action, tt.server, tt.called)
		}
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
		"in an object": {
			`{"path":"/steps/[0]/action","proof":[{"position":"left","sibling_hash":"ab"},{"position":"right","sibling_hash":"cd"}]}`,
			2,
		},
		"nothing":        {``, -1},
		"null":           {`null`, -1},
		"object without": {`{}`, -1},
		"text":           {`"[]"`, -1},
		"wrong items":    {`["ab"]`, -1},
		"too many":       {string(many), -1},
		"deep":           {strings.Repeat("[", 100_000), -1},
	} {
		got, ok := plan.ParseProof([]byte(tt.give))
		if ok != (tt.want >= 0) || ok && len(got) != tt.want {
			t.Errorf("%s: %v, %t", name, got, ok)
		}
	}
}
