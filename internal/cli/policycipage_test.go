package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/node"
)

// TestPolicyCIPage runs every command of the page on policies in CI. Its policy must be one, and its
// workflow must give the action inputs that it has.
func TestPolicyCIPage(t *testing.T) {
	t.Parallel()
	blocks, policies, workflows := []block(nil), 0, 0
	_, inputs := actionStep(t)
	for _, b := range readBlocks(t, "../../docs/policy-ci.md") {
		switch {
		case b.kind != "yaml":
			blocks = append(blocks, b)
		case strings.Contains(b.text, "jobs:"):
			workflows++
			checkWorkflow(t, b.text, inputs)
		default:
			policies++
			file := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			printed := runShell(t, t.TempDir(), "writd policy lint "+file+"\n")
			if !strings.Contains(printed, ": ok, ") {
				t.Errorf("the policy of the page: %s", printed)
			}
		}
	}
	if policies != 1 || workflows != 1 {
		t.Errorf("%d policies and %d workflows, want one of each", policies, workflows)
	}
	runPage(t, blocks, 3)
}

func checkWorkflow(t *testing.T, text string, inputs map[string]string) {
	t.Helper()
	if _, problems := node.ReadYAML([]byte(text)); len(problems) > 0 {
		t.Errorf("the workflow of the page: %v", problems)
	}
	_, given, found := strings.Cut(text, "with:\n")
	if !found {
		t.Fatal("the workflow gives the action nothing")
	}
	for line := range strings.Lines(given) {
		name, _, isInput := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasPrefix(name, "- ") || !isInput {
			return
		}
		if inputs[name] == "" {
			t.Errorf("the action has no input %s", name)
		}
	}
}
