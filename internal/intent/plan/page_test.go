package plan_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"writ/internal/intent/plan"
)

// TestStepsByAnIndependentVerifier has a verifier in another language, written from
// docs/audit-log-format.md, check the proofs of a plan's steps.
func TestStepsByAnIndependentVerifier(t *testing.T) {
	t.Parallel()
	type proved struct {
		Root  string     `json:"root"`
		Path  string     `json:"path"`
		Value string     `json:"value"` // canonical JSON
		Proof plan.Proof `json:"proof"`
	}
	tree := parse(t, `{"steps":[{"action":"büro.send","mcp":"mail","params":{"to":"a"}},
		{"action":"read","mcp":"files"},{"action":"list","mcp":"files"}]}`).Tree()
	values := []string{`"b\u00fcro.send"`, `"read"`, `"list"`}
	var cases []proved
	for i, value := range values {
		proof, ok := tree.ActionProof(i)
		if !ok {
			t.Fatalf("there is no proof of step %d", i)
		}
		cases = append(cases, proved{tree.Root(), proof.Path, value, proof.Proof})
	}
	step, ok := tree.StepProof(1)
	if !ok {
		t.Fatal("there is no proof of step 1 as a whole")
	}
	whole := `{"action":"read","arguments":{},"max_calls":0,"mcp":"files","ordered":false,"strict":false,"tool":"read"}`
	cases = append(cases, proved{tree.Root(), step.Path, whole, step.Proof},
		proved{tree.Root(), step.Path, strings.Replace(whole, `"max_calls":0`, `"max_calls":1`, 1), step.Proof},
		proved{tree.Root(), cases[0].Path, values[1], cases[0].Proof},
		proved{tree.Root(), cases[1].Path, values[0], cases[0].Proof})
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "node", "../../../test/evidence/step.mjs")
	var problems bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(input), &problems
	output, err := command.Output()
	if err != nil {
		t.Fatalf("node: %v: %s", err, problems.String())
	}
	if got, want := strings.TrimSpace(string(output)), `[true,true,true,true,false,false,false]`; got != want {
		t.Errorf("proved = %s, want %s", got, want)
	}
}
