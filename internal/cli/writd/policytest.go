package writd

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/cli/checks"
	"writ/internal/policy/document"
	"writ/internal/policy/policytest"
)

// tested is what --json prints about one test, or about a file that cannot be used.
type tested struct {
	File     string    `json:"file"`
	Line     int       `json:"line,omitempty"`
	Test     string    `json:"test,omitempty"`
	OK       bool      `json:"ok"`
	Decision string    `json:"decision,omitempty"`
	Policy   string    `json:"policy,omitempty"`
	Rule     string    `json:"rule,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Failures []string  `json:"failures,omitempty"`
	Problems []problem `json:"problems,omitempty"`
}

func (c *command) policyTest() *cobra.Command {
	var format reportFormat
	test := &cobra.Command{
		Use: "test FILE|DIR...", Short: "Run tests of policies: calls and the decisions wanted for them",
		Long: `Run tests of policies: calls and the decisions wanted for them. In a folder, every file *.yaml and *.yml that has tests
is run, and every *.test.json. - reads tests from the standard input; policies that they name are in the folder where
the command runs.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := checks.TestFiles(args)
			if err != nil {
				return err
			}
			var results []tested
			for _, file := range files {
				results = append(results, c.runTests(file)...)
			}
			return c.showTests(format, results)
		},
	}
	format.addFlags(test)
	return test
}

func (c *command) showTests(format reportFormat, results []tested) error {
	failed, shown := 0, checks.Report{}
	for _, r := range results {
		shown.Tests = append(shown.Tests, r.checked())
		if !r.OK {
			failed++
		}
	}
	report := map[string]any{"passed": len(results) - failed, "failed": failed, "results": results}
	words := testText(results) + fmt.Sprintf("%d passed, %d failed\n", len(results)-failed, failed)
	if err := c.showReport(format, shown, report, words); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s failed", failed, cli.Count(len(results), "test"))
	}
	return nil
}

// runTests runs the tests of one file. A file that cannot be used is a failure.
func (c *command) runTests(file string) []tested {
	s, err := c.loadTests(file)
	if err != nil {
		failed := tested{File: file, Problems: []problem{{Message: err.Error()}}}
		if invalid, ok := errors.AsType[*policytest.Invalid](err); ok {
			failed.File, failed.Problems = invalid.File, problemsOf(invalid.Problems)
		}
		return []tested{failed}
	}
	results := s.Run()
	shown := make([]tested, len(results))
	for i, r := range results {
		shown[i] = tested{
			File: file, Line: r.Test.At.Line, Test: r.Test.Name, OK: r.Passed(),
			Decision: r.Decision.Verdict.String(), Policy: r.Decision.PolicyName, Rule: r.Decision.Rule,
			Reason: r.Decision.Reason, Failures: r.Failures,
		}
	}
	return shown
}

// loadTests reads tests and the policies that they name, which are beside the file; of the standard input they are in
// the folder where the command runs.
func (c *command) loadTests(file string) (*policytest.Suite, error) {
	if file != checks.Stdin {
		return policytest.Load(file)
	}
	text, err := c.readFile(file, policytest.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("read the tests: %w", err)
	}
	return policytest.Read(file, text, func(policy string) ([]byte, error) {
		return policytest.ReadFile(filepath.FromSlash(policy), document.MaxBytes)
	})
}

// testText lists what failed; what passed is only counted.
func testText(results []tested) string {
	var b strings.Builder
	for _, r := range results {
		for _, p := range r.Problems {
			whole := document.Problem{
				Position: document.Position{Line: p.Line, Column: p.Column},
				Rule:     p.Rule,
				Field:    p.Field,
				Message:  p.Message,
			}
			fmt.Fprintf(&b, "%s\n", cli.Line(whole.In(r.File)))
		}
		if len(r.Failures) > 0 {
			fmt.Fprintf(&b, "%s:%d: %s\n", cli.Line(r.File), r.Line, cli.Line(r.Test))
		}
		for _, failure := range r.Failures {
			fmt.Fprintf(&b, "    %s\n", cli.Line(failure))
		}
	}
	return b.String()
}
