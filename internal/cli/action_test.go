package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/node"
)

// actionStep is the step of the GitHub Action: its commands, and the inputs that its variables take.
func actionStep(t *testing.T) (commands string, inputs map[string]string) {
	t.Helper()
	text, err := os.ReadFile("../../actions/policy/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	root, problems := node.ReadYAML(text)
	if len(problems) > 0 {
		t.Fatalf("read the action: %v", problems)
	}
	report := func(_ node.Position, path, message string) { t.Errorf("%s: %s", path, message) }
	all := node.Read(root, report).Members("name", "description", "inputs", "runs")
	runs := all.Need("runs").Members("using", "steps")
	steps := runs.Need("steps").Items(10)
	if len(steps) != 1 {
		t.Fatalf("%d steps, want one", len(steps))
	}
	step := steps[0].Members("name", "shell", "env", "run")
	commands, _ = step.Need("run").Text()
	variables := step.Need("env").Members("POLICIES", "TESTS", "REPORTS", "SERVER", "WRIT_API_KEY")
	declared := all.Need("inputs").Members("policies", "tests", "reports", "url", "api-key")
	inputs = map[string]string{}
	for _, name := range []string{"POLICIES", "TESTS", "REPORTS", "SERVER", "WRIT_API_KEY"} {
		value, _ := variables.Need(name).Text()
		input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
		if declared.Need(input) == nil {
			t.Errorf("%s takes %q, which is no input", name, value)
		}
		inputs[input] = name
	}
	return commands, inputs
}

// TestAction runs the commands of the GitHub Action as its runner does.
func TestAction(t *testing.T) {
	t.Parallel()
	commands, inputs := actionStep(t)
	if strings.Contains(commands, "${{") {
		t.Error("the commands hold an input: what it says would be run")
	}
	for name, c := range map[string]struct {
		policies, tests string
		code            int
		says            string
	}{
		"all is well":     {"*.yaml", "tests", 0, "2 passed, 0 failed"},
		"a bad policy":    {"good.yaml bad/bad.yaml", "", 1, "bad/bad.yaml:3:1: "},
		"a failing test":  {"good.yaml", "bad/wrong.test.yaml", 1, "0 passed, 1 failed"},
		"nothing is run":  {"$(touch stolen) good.yaml;touch stolen", "", 1, "stolen"},
		"no such a file":  {"missing.yaml", "", 1, "missing.yaml"},
		"no such a thing": {"good.yaml", "nowhere", 1, "nowhere"},
	} {
		folder := t.TempDir()
		for file, text := range actionFiles {
			path := filepath.Join(folder, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", commands)
		run.Dir = folder
		run.Env = append(os.Environ(), inputs["policies"]+"="+c.policies, inputs["tests"]+"="+c.tests,
			inputs["reports"]+"=out", inputs["url"]+"=", inputs["api-key"]+"=")
		out, _ := run.CombinedOutput()
		if run.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: exit code %d, want %d:\n%s", name, run.ProcessState.ExitCode(), c.code, out)
		}
		report, err := os.ReadFile(filepath.Join(folder, "out", "policy-lint.sarif"))
		if err != nil || !strings.Contains(string(report), `"2.1.0"`) {
			t.Errorf("%s: the report is %.80s, %v", name, report, err)
		}
		if _, err := os.Stat(filepath.Join(folder, "stolen")); err == nil {
			t.Errorf("%s: an input was run", name)
		}
	}
}

const goodPolicy = "version: v1\nname: x\nrules:\n  - {id: a, effect: allow, tools: [\"bank.read\"]}\n"

// actionFiles are a repository of policies.
var actionFiles = map[string]string{
	"good.yaml":    goodPolicy,
	"bad/bad.yaml": "version: v1\nname: x\nrulez: []\n",
	"tests/read.test.yaml": "policy: ../good.yaml\ntests:\n" +
		"  - {name: reads, call: {server: bank, tool: read}, want: {decision: allow}}\n" +
		"  - {name: pays, call: {server: bank, tool: pay}, want: {decision: deny}}\n",
	"bad/wrong.test.yaml": "policy: ../good.yaml\ntests:\n" +
		"  - {name: pays, call: {server: bank, tool: pay}, want: {decision: allow}}\n",
}
