package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/policy/policytest"
)

const decisions = "../../testdata/decisions"

// TestDecisions runs the corpus of decisions as people run their own tests. It
// must give the decisions that the corpus wants, for every case.
func TestDecisions(t *testing.T) {
	t.Parallel()
	cases, err := policytest.Cases(decisions)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "writd", "policy", "test", "--json", decisions).Output()
	if err != nil {
		t.Fatalf("writd policy test: %v", err)
	}
	var report struct {
		Passed, Failed int
		Results        []struct{ File, Test, Decision, Rule, Reason string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("read the report: %v", err)
	}
	if report.Passed != len(cases) || report.Failed != 0 || len(report.Results) != len(cases) {
		t.Fatalf("%d of %d cases passed, %d failed, %d reported", report.Passed, len(cases), report.Failed,
			len(report.Results))
	}
	for i, c := range cases {
		got, want := report.Results[i], c.Test.Want
		if got.Test != c.Test.Name || filepath.Base(got.File) != filepath.Base(c.Suite.File) {
			t.Fatalf("result %d is of %s in %s, want %s", i, got.Test, got.File, c.Name())
		}
		if got.Decision != want.Decision.String() || want.Rule != "" && got.Rule != want.Rule ||
			!strings.Contains(got.Reason, want.Reason) {
			t.Errorf("%s: %s by %q (%s), want %s by %q (%s)", c.Name(), got.Decision, got.Rule, got.Reason,
				want.Decision, want.Rule, want.Reason)
		}
	}
}

// TestDecisionsCanFail turns one case of the corpus around.
func TestDecisionsCanFail(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(decisions, "default-hold.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const right, wrong = "want: {decision: ask,", "want: {decision: allow,"
	if strings.Count(string(text), right) != 1 {
		t.Fatalf("the file has no longer one case that wants ask")
	}
	file := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), right, wrong, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "writd", "policy", "test", file)
	out, err := cmd.Output()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("writd policy test ends with %v, want exit code 1", err)
	}
	for _, want := range []string{`decision is "ask", want "allow"`, "1 failed"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}
